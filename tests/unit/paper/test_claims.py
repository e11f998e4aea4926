"""The claims are borne out by the very numbers that they are drawn from."""

import math

import pytest

from aiayn.paper.claims import Claim, Comparison, Metric, OverFitting, load_claims, read_claim
from aiayn.paper.tables import load_table3

CLAIMS = load_claims()
PRIMARY = [comparison for claim in CLAIMS for comparison in claim.primary]
COMPARISONS = [*PRIMARY, *(comparison for claim in CLAIMS for comparison in claim.secondary)]


def value(row_id: str, metric: Metric) -> float:
    return load_table3().row(row_id).cell(metric).number


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda each: f"{each.metric}-{'-'.join(each.rows)}")
def test_the_papers_own_numbers_satisfy_it(comparison: Comparison) -> None:
    first, second = (value(row, comparison.metric) for row in comparison.rows)
    difference = comparison.metric.difference(first, second)
    if comparison.within is None:
        assert comparison.effect == pytest.approx(difference)
        assert comparison.sign * difference > 0
    else:
        assert comparison.effect == comparison.sign == 0
        assert abs(difference) < comparison.within


def test_log_perplexity_is_primary_and_bleu_secondary_but_for_the_claim_on_both() -> None:
    assert [each.rows for each in PRIMARY if each.metric is Metric.bleu] == [("base", "d_ls0")]
    assert {each.metric for claim in CLAIMS for each in claim.secondary} == {Metric.bleu}


def test_what_counts_as_alike_is_the_smallest_effect_of_heads_and_keys() -> None:
    (ppl,) = (each for each in COMPARISONS if each.within is not None and each.metric is Metric.ppl)
    (bleu,) = (each for each in COMPARISONS if each.within is not None and each.metric is Metric.bleu)
    effects = {
        metric: min(abs(metric.difference(value("base", metric), value(row, metric))) for row in ("a_h32", "b_dk32"))
        for metric in Metric
    }
    assert ppl.within == pytest.approx(effects[Metric.ppl], abs=5e-4)
    assert ppl.within == pytest.approx(math.log(5.01 / 4.92), abs=5e-4)
    assert bleu.within == pytest.approx(effects[Metric.bleu])


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_is_about_rows_of_its_group_and_has_the_gate_of_convergence(claim: Claim) -> None:
    assert claim.section in ("5.4", "6.2", "Table 3")
    assert "converged" in claim.gates
    for comparison in (*claim.primary, *claim.secondary):
        assert claim.group in {load_table3().row(row).group for row in comparison.rows}


def test_only_the_claim_on_over_fitting_needs_it() -> None:
    (claim,) = (claim for claim in CLAIMS if any(isinstance(gate, OverFitting) for gate in claim.gates.values()))
    assert claim.id == "dropout"


def test_every_group_of_rows_has_a_claim_and_no_comparison_stands_twice() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert {claim.group for claim in CLAIMS} == {row.group for row in load_table3().rows} - {"base"}
    assert len({(each.metric, frozenset(each.rows)) for each in COMPARISONS}) == len(COMPARISONS)


@pytest.mark.parametrize("metric", Metric)
def test_no_row_of_the_paper_is_better_than_big(metric: Metric) -> None:
    others = [row.id for row in load_table3().rows if row.id != "big"]
    assert all(metric.sign * (value("big", metric) - value(other, metric)) > 0 for other in others)
    (claim,) = (claim for claim in CLAIMS if claim.id == "big_is_best")
    best = max(others, key=lambda row: metric.sign * value(row, metric))
    compared = claim.primary if metric is Metric.ppl else claim.secondary
    assert ("big", best) in [each.rows for each in compared]


def test_a_claim_of_others_states_its_effect_in_the_direction_of_better() -> None:
    entry = {"id": "mine", "statement": "Mine helps.", "primary": [{"better": "mine", "worse": "base", "effect": 0.03}]}
    claim = read_claim(entry, {}, lambda *_: math.nan)
    assert (claim.primary[0].sign, claim.primary[0].effect) == (-1, -0.03), "less perplexity is better"
    entry["primary"] = [{"better": "mine", "worse": "base", "effect": 0.5, "metric": "bleu"}]
    assert read_claim(entry, {}, lambda *_: math.nan).primary[0].effect == 0.5
    for broken in ({"metric": "chrf", "worse": "base"}, {"metric": "bleu"}):
        with pytest.raises(KeyError):
            read_claim(entry | {"primary": [{"better": "mine", "effect": 1, **broken}]}, {}, lambda *_: 0.0)
