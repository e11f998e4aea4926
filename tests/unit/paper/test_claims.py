"""The claims are borne out by the very numbers that they are drawn from."""

import pytest

from aiayn.paper.claims import Claim, Comparison, Metric, Ordering, Sameness, load_claims
from aiayn.paper.tables import load_table3

CLAIMS = load_claims()
COMPARISONS = [comparison for claim in CLAIMS for comparison in claim.comparisons]


def value(row_id: str, metric: Metric) -> float:
    return load_table3().row(row_id).cell(metric).number


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda each: f"{each.metric}-{'-'.join(each.rows)}")
def test_the_papers_own_numbers_satisfy_it(comparison: Comparison) -> None:
    first, second = (value(row, comparison.metric) for row in comparison.rows)
    if isinstance(comparison, Ordering):
        difference = comparison.metric.sign * (first - second)
        assert difference > 0
        decimals = load_table3().row(comparison.better).cell(comparison.metric).decimals
        assert f"{difference:.{decimals}f}" == comparison.printed
    else:
        assert abs(first - second) < float(comparison.within)


@pytest.mark.parametrize("metric", Metric)
def test_what_counts_as_alike_is_less_than_the_smallest_effect_of_heads_and_keys(metric: Metric) -> None:
    (alike,) = (each for each in COMPARISONS if isinstance(each, Sameness) and each.metric is metric)
    effects = [
        float(comparison.printed)
        for claim in CLAIMS
        if claim.id in ("too_many_heads", "smaller_keys")
        for comparison in claim.comparisons
        if isinstance(comparison, Ordering) and comparison.metric is metric and comparison.better == "base"
    ]
    assert float(alike.within) == min(effects)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_is_about_rows_of_its_group(claim: Claim) -> None:
    assert claim.section in ("5.4", "6.2")
    assert claim.comparisons
    for comparison in claim.comparisons:
        assert claim.group in {load_table3().row(row).group for row in comparison.rows}


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
    assert ("big", best) in [each.rows for each in claim.comparisons if each.metric is metric]
