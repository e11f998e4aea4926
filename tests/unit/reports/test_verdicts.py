"""A claim is reproduced where every interval says so, and contradicted where one says the opposite."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.evaluation.significance import Interval
from aiayn.paper.claims import Metric, Ordering, Sameness, load_claims
from aiayn.reports.tables.table3_claims import MeasuredRows, judge, judge_comparison
from aiayn.reports.verdicts import Verdict

BLEU_CLAIM = Ordering(Metric.bleu, "base", "a_h1", "0.9")
PPL_CLAIM = Ordering(Metric.ppl, "base", "a_h1", "0.37")
ALIKE = Sameness(Metric.bleu, ("e_learned", "base"), "0.4")

OPPOSITE = {
    Verdict.reproduced: Verdict.contradicted,
    Verdict.contradicted: Verdict.reproduced,
    Verdict.undecided: Verdict.undecided,
}


def interval(low: float, high: float) -> Interval:
    """With half of the variance from sentences and half from seeds."""
    variance = ((high - low) / 2 / 1.96) ** 2 / 2
    return Interval((low + high) / 2, low, high, variance, variance)


ends = st.floats(-5, 5).map(lambda value: round(value, 3))
intervals = st.tuples(ends, ends).map(lambda pair: interval(min(pair), max(pair)))


@given(intervals)
def test_an_interval_on_one_side_decides_and_one_across_0_does_not(found: Interval) -> None:
    verdict = judge_comparison(BLEU_CLAIM, found).verdict
    expected = Verdict.reproduced if found.low > 0 else Verdict.contradicted if found.high < 0 else Verdict.undecided
    assert verdict is expected
    assert judge_comparison(PPL_CLAIM, found).verdict is OPPOSITE[verdict], "less perplexity is better"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.3, 0.3, Verdict.reproduced),
        (0.1, 0.39, Verdict.reproduced),
        (0.1, 0.5, Verdict.undecided),
        (-1.0, 1.0, Verdict.undecided),
        (0.5, 0.9, Verdict.contradicted),
        (-0.9, -0.5, Verdict.contradicted),
        (math.nan, math.nan, Verdict.undecided),
    ],
)
def test_alike_means_that_the_interval_lies_within_the_tolerance(low: float, high: float, verdict: Verdict) -> None:
    assert judge_comparison(ALIKE, interval(low, high)).verdict is verdict


@given(intervals)
def test_seeds_are_asked_for_only_where_they_could_decide(found: Interval) -> None:
    for comparison in (BLEU_CLAIM, PPL_CLAIM, ALIKE):
        judged = judge_comparison(comparison, found)
        assert judged.seeds_needed is None or judged.verdict is Verdict.undecided


def test_without_runs_every_claim_is_pending_with_its_comparisons() -> None:
    for claim in load_claims():
        judged = judge(claim, MeasuredRows(None, {}))
        assert judged.verdict is Verdict.pending
        assert [each.comparison for each in judged.comparisons] == list(claim.comparisons)
        assert judged.seeds_needed is None
