"""The claims are borne out by the very numbers that they are drawn from."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.paper.claims import (
    SHARE,
    Comparison,
    Metric,
    load_claims,
    printed_score,
    read_claim,
    slope_weights,
)
from aiayn.paper.tables import load_table3

CLAIMS = load_claims()
PRIMARY = [comparison for claim in CLAIMS for comparison in claim.primary]
COMPARISONS = [*PRIMARY, *(comparison for claim in CLAIMS for comparison in claim.secondary)]

sizes = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 4096), min_size=2, max_size=5).filter(
    lambda found: len({*found.values()}) == len(found)
)

SHAPES: list[dict[str, Any]] = [
    {"better": "mine", "worse": "base", "effect": 0.03},
    {"trend": {"small": 2, "large": 8, "middle": 3}, "effect": 0.03},
    {"alike": ["mine", "base"], "share_of": ["worse", "base"], "effect": 0.03},
    {"alike": ["mine", "base"], "within": 0.03},
]


def entry(*primary: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    return {"id": "mine", "statement": "Mine helps.", "primary": list(primary), **others}


def one(*primary: Mapping[str, Any]) -> Comparison:
    return read_claim(entry(*primary)).primary[0]


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda each: each.text)
def test_the_papers_own_numbers_satisfy_it(comparison: Comparison) -> None:
    printed = {row: printed_score(comparison.metric, row) for row in comparison.rows}
    assert dict(comparison.scores) == printed
    measured = sum(weight * printed[row] for row, weight in comparison.weights.items())
    assert comparison.metric.sign * measured > 0, "rows that are alike differ by less than a quarter of the effect"
    if comparison.alike is None:
        assert comparison.effect == pytest.approx(measured)
    assert comparison.metric.sign * comparison.effect > 0
    assert sum(comparison.weights.values()) == pytest.approx(0), "a common factor of perplexities drops out"


def test_log_perplexity_is_primary_and_bleu_secondary_but_for_the_claim_on_both() -> None:
    assert [each.rows for each in PRIMARY if each.metric is Metric.bleu] == [("base", "d_ls0")]
    assert {each.metric for claim in CLAIMS for each in claim.secondary} == {Metric.bleu}


def test_claims_are_about_rows_of_their_groups_every_group_has_one_and_no_comparison_stands_twice() -> None:
    for claim in CLAIMS:
        assert claim.section in ("5.4", "6.2", "Table 3")
        for comparison in (*claim.primary, *claim.secondary):
            assert claim.group in {load_table3().row(row).group for row in comparison.rows}
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert {claim.group for claim in CLAIMS} == {row.group for row in load_table3().rows} - {"base"}
    assert len({(each.metric, each.text) for each in COMPARISONS}) == len(COMPARISONS)
    assert {claim.requires for claim in CLAIMS} - {None} <= {claim.id for claim in CLAIMS}


@pytest.mark.parametrize("metric", Metric)
def test_no_row_of_the_paper_is_better_than_big(metric: Metric) -> None:
    scores = {row.id: metric.sign * printed_score(metric, row.id) for row in load_table3().rows}
    big = scores.pop("big")
    best = max(scores, key=lambda row: scores[row])
    assert big > scores[best]
    (claim,) = (claim for claim in CLAIMS if claim.id == "big_is_best")
    compared = claim.primary if metric is Metric.ppl else claim.secondary
    assert ("big", best) in [each.rows for each in compared]


@pytest.mark.parametrize("metric", Metric)
@pytest.mark.parametrize("size", [{"share_of": ["bad", "old"], "effect": 1.0}, {"within": SHARE}], ids=" ".join)
def test_a_likeness_is_a_difference_of_less_than_a_quarter_of_another_or_a_margin_on_either_side(
    size: dict[str, Any], metric: Metric
) -> None:
    """Whatever the metric, a difference of `gap` beside an effect of one is alike within a quarter of it."""
    found = read_claim(entry({"alike": ["new", "old"], "metric": metric.value, **size})).primary
    assert {each.alike for each in found} == {("new", "old")}
    for gap, is_alike in ((0.0, True), (0.24, True), (-0.24, True), (0.26, False), (-0.26, False)):
        scores = {"old": 5.0, "new": 5.0 + gap, "bad": 5.0 - metric.sign}
        claimed = [each.shift + sum(weight * scores[row] for row, weight in each.weights.items()) for each in found]
        assert all(metric.sign * each > 0 for each in claimed) is is_alike
    assert [each.effect for each in found] == pytest.approx([metric.sign * SHARE] * 2), "if they were equal"


@given(sizes, st.floats(-10, 10), st.floats(-10, 10))
def test_a_slope_is_the_change_per_doubling(found: dict[str, int], slope: float, level: float) -> None:
    weights = slope_weights(found)
    scores = {row: slope * math.log2(size) + level for row, size in found.items()}
    spread = sum(abs(weight) for weight in weights.values())
    assert sum(weights[row] * scores[row] for row in found) == pytest.approx(slope, abs=1e-12 * (1 + 1e3 * spread))
    comparison = one({"trend": found, "effect": 1.0})
    assert all(found[larger] > found[smaller] for larger, smaller in comparison.steps)
    assert len(comparison.steps) == len(found) - 1
    assert all(smaller == before for (_, smaller), (before, _) in pairwise(comparison.steps[::-1]))


@pytest.mark.parametrize("metric", Metric)
@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_a_claim_of_others_states_its_effect_in_the_direction_of_better(shape: dict[str, Any], metric: Metric) -> None:
    assert one({**shape, "metric": metric.value}).effect == pytest.approx(metric.sign * 0.03)


def test_a_claim_is_read_again_from_its_entry() -> None:
    """A plan keeps the entry, with the scores that were stated then."""
    own = read_claim(entry(*SHAPES, secondary=SHAPES, may_fail=True, requires="other"))
    for claim in (own, *CLAIMS):
        assert read_claim(claim.entry) == claim


def test_a_claim_of_others_is_read_whole() -> None:
    pair = {"better": "mine", "worse": "base"}
    for broken in ({**pair, "effect": 1, "metric": "chrf"}, {"better": "mine", "effect": 1}, pair):
        with pytest.raises(KeyError):
            one(broken)
    with pytest.raises(TypeError):
        read_claim(entry({**pair, "effect": 1}, gates={}))
