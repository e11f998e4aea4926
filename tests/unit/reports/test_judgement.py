"""Whole tables judged: what is tested, the order of verdicts, and what is said beside them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured_rows import measured_rows, seeds

from aiayn.paper.claims import Claim, Metric, load_claims, printed_score, read_claim
from aiayn.paper.tables import load_table3
from aiayn.reports.claim_grids import notes, pooled_remarks, untested_remarks
from aiayn.reports.judgement import STUDY, JudgedClaim, Rules, expected_scores, judge_claims
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.numbers import effect_text
from aiayn.reports.verdicts import Verdict

POOLED = Rules("base", pooled=True)


def claim(*primary: Mapping[str, Any], name: str = "mine", **others: Any) -> Claim:
    return read_claim({"id": name, "statement": "Mine is better.", "primary": primary, **others})


PAIR = {"better": "mine", "worse": "base", "effect": 0.03}
TREND = {"trend": {"small": 1, "base": 2, "large": 4}, "effect": 0.05}
LIKENESS = {"alike": ["mine", "base"], "share_of": ["other", "base"], "effect": 0.1}
HELPS = claim(PAIR)
BETTER = {"base": 1.6, "mine": 1.5}
FEW = "at least 5 seeds of each row are needed: mine has 2, base has 4"
LOST = "training failure: no finite log PPL at the end of a run of mine"


def judged(
    rows: MeasuredRows, *claims: Claim, rules: Rules = STUDY, projected: MeasuredRows | None = None, **others: Any
) -> JudgedClaim:
    """The first claim."""
    return judge_claims(claims or (HELPS,), rows, rules, projected=projected, **others)[0]


@pytest.mark.parametrize(
    ("ppl", "bleu", "counts", "rules", "reason"),
    [
        ({}, {}, {}, STUDY, "no finished run of mine, base"),
        ({"base": 1.6}, {"base": 0.0}, {"base": 1}, STUDY, "no finished run of mine"),
        (BETTER, {}, {"base": 1, "mine": 1}, POOLED, "no row has two seeds, so the variation between seeds is unknown"),
        (BETTER, {}, {"base": 1, "mine": 3}, POOLED, ""),
        (BETTER, {"mine": 0.0}, {"base": 4, "mine": 2}, STUDY, FEW),
        ({**BETTER, "mine": math.inf}, {}, {}, STUDY, LOST),
        ({**BETTER, "mine": math.nan}, {"mine": 0.0}, {}, POOLED, LOST),
        (BETTER, {"base": 0.9, "mine": 0.8}, {}, STUDY, "training failure: base has 0.9 BLEU"),
        (BETTER, {"base": 30.0, "mine": 14.9}, {}, POOLED, "training failure: mine has 14.9 BLEU, base 30.0"),
        (BETTER, {"base": 1.0, "mine": 0.5}, {}, STUDY, ""),
    ],
)
def test_what_is_not_tested_says_why(
    ppl: dict[str, float], bleu: dict[str, float], counts: dict[str, int], rules: Rules, reason: str
) -> None:
    rows = measured_rows(ppl, bleu, counts)
    found = judged(rows, rules=rules)
    assert found.reason == reason
    assert found.verdict is (Verdict.not_tested if reason else Verdict.reproduced)
    (comparison,) = found.primary
    assert (comparison.effect is None) == (len(ppl) < 2), "it is shown all the same"
    assert (comparison.p_supported is None) == bool(reason)
    assert judged(rows, rules=rules, lacking=lambda _: "2 planned runs not in").reason == "2 planned runs not in"
    assert [*untested_remarks([found])] == ([f"Not tested: mine: {reason}."] if reason else [])
    may_fail = judged(rows, replace(HELPS, may_fail=True), rules=rules).reason
    assert may_fail == ("" if "BLEU" in reason else reason)


@pytest.mark.parametrize(
    ("small", "base", "large", "power", "verdict", "opposite"),
    [
        (1.7, 1.6, 1.5, 0.1, Verdict.reproduced, ()),
        (1.7, 1.6, 1.61, 0.1, Verdict.reproduced, ()),
        (1.7, 1.6, 1.63, 0.1, Verdict.not_monotone, ("large after base",)),
        (1.6, 1.65, 1.6, 0.1, Verdict.not_monotone, ("base after small",)),
        (1.5, 1.6, 1.7, 0.1, Verdict.contradicted, ("base after small", "large after base")),
        (1.6, 1.6, 1.6, 0.49, Verdict.under_powered, ()),
        (1.6, 1.6, 1.6, 0.5, Verdict.undecided, ()),
        (1.6, 1.6, 1.6, None, Verdict.undecided, ()),
    ],
)
def test_a_trend_is_a_slope_without_an_opposite_step(
    small: float, base: float, large: float, power: float | None, verdict: Verdict, opposite: tuple[str, ...]
) -> None:
    rows = measured_rows({"small": small, "base": base, "large": large})
    found = judged(rows, claim(TREND), powers={"mine": power})
    assert (found.verdict, found.opposite_steps, found.power) == (verdict, opposite, power)
    assert ("opposite: " + ", ".join(opposite) in [*notes(found)]) == bool(opposite)
    assert found.content.opposite_steps == opposite
    untested = judged(rows, claim(TREND), powers={"mine": power}, lacking=lambda _: "one run")
    assert (untested.verdict, untested.opposite_steps) == (Verdict.not_tested, ())


def test_contradictions_are_corrected_over_the_table_and_claims_are_not() -> None:
    rows = measured_rows({"base": 1.6, "mine": 1.615, "other": 1.585})
    other = claim({**PAIR, "better": "other"}, name="other")
    assert judged(rows).verdict is Verdict.contradicted
    assert judged(rows, HELPS, other).verdict is Verdict.undecided
    assert judged(rows, other, HELPS).verdict is Verdict.reproduced
    untested = claim({**PAIR, "better": "missing"}, name="untested")
    assert judged(rows, HELPS, untested).verdict is Verdict.undecided, "it counts in the correction"
    rows, lacking = measured_rows({"base": 1.6, "mine": 1.615, "other": 1.7}), {"other": "a run"}
    found = judged(rows, HELPS, other, lacking=lambda each: lacking.get(each.id, ""))
    assert found.verdict is Verdict.undecided, "and its runs do not, as long as it is not tested"


@pytest.mark.parametrize(
    ("mine", "other", "verdict"),
    [
        (1.6, 1.7, Verdict.reproduced),
        (1.65, 1.7, Verdict.contradicted),
        (1.55, 1.7, Verdict.contradicted),
        (1.62, 1.7, Verdict.undecided),
        (1.6, 1.6, Verdict.not_tested),
    ],
)
def test_a_likeness_requires_the_effect_of_which_it_is_a_share(mine: float, other: float, verdict: Verdict) -> None:
    alike = claim(LIKENESS, requires="effect")
    effect = claim({"better": "base", "worse": "other", "effect": 0.1}, name="effect")
    rows = measured_rows({"base": 1.6, "mine": mine, "other": other})
    found = judged(rows, alike, effect)
    assert found.verdict is verdict
    stated = judged(rows, claim({"alike": ["mine", "base"], "within": 0.025}))  # a quarter of 1.7 - 1.6
    assert stated.verdict is (verdict if other == 1.7 else Verdict.reproduced)
    assert bool(found.reason) == (verdict is Verdict.not_tested)
    assert not any(each.is_smaller for each in found.primary)


@pytest.mark.parametrize(
    ("ends", "late", "verdict", "closing"),
    [
        ((1.5, 1.5), (1.58, 1.5), Verdict.reproduced, False),
        ((1.5, 1.5), (1.5, 1.59), Verdict.reproduced, True),
        ((1.5, 1.5), (1.7, 1.7), Verdict.reproduced, True),
        ((1.5, 1.5), (math.nan, 1.5), Verdict.reproduced, None),
        ((1.5, 1.5), None, Verdict.reproduced, None),
        ((1.7, 1.7), (1.62, 1.6), Verdict.contradicted, False),
        ((1.7, 1.7), (1.61, 1.6), Verdict.contradicted, True),
        ((1.5, 1.7), (1.5, 1.6), Verdict.contradicted, True),
        ((1.6, 1.5), (1.5, 1.5), Verdict.undecided, None),
    ],
)
def test_a_decided_claim_is_closing_where_curves_do_not_lead_to_what_decides_it(
    ends: tuple[float, float], late: tuple[float, float] | None, verdict: Verdict, closing: bool | None
) -> None:
    """All comparisons decide a claim that is reproduced; of those that contradict it one is enough."""
    rows, projected = (
        None if levels is None else measured_rows({"base": 1.6, "mine": levels[0], "other": levels[1]})
        for levels in (ends, late)
    )
    assert rows is not None
    found = judged(rows, claim(PAIR, {**PAIR, "better": "other"}), projected=projected)
    assert (found.verdict, found.is_closing) == (verdict, closing)
    assert ("closing" in [*notes(found)]) is bool(closing)
    assert found.content.closing is closing


@pytest.mark.parametrize(
    ("mine", "stated", "floor", "smaller"),
    [
        (1.57, 0.05, None, True),
        (1.57, 0.04, None, False),  # the interval holds it
        (1.6, 0.03, None, True),  # the direction is open
        (1.7, 0.03, None, False),  # contradicted
        (1.5, 0.03, None, False),  # larger
        (1.57, 0.05, 1.55, True),  # the floor is where the stated difference leads
        (1.57, 0.05, 1.56, False),  # the corpus leaves no room for it
    ],
)
def test_a_difference_that_excludes_the_stated_one_is_called_smaller(
    mine: float, stated: float, floor: float | None, smaller: bool
) -> None:
    for rules in (replace(STUDY, floor=floor), replace(POOLED, floor=floor)):
        found = judged(measured_rows({"base": 1.6, "mine": mine}), claim({**PAIR, "effect": stated}), rules=rules)
        assert found.primary[0].is_smaller is smaller
        assert ("smaller than stated" in [*notes(found)]) is smaller


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0.0, 2))
def test_expected_scores_keep_their_differences_down_to_the_floor(level: float, stated: float, floor: float) -> None:
    (comparison,) = claim({**PAIR, "effect": stated}).primary
    measured = {"base": level + 0.5}
    assert expected_scores(comparison, measured, STUDY) == (comparison.scores, comparison.effect)
    scores, effect = expected_scores(comparison, measured, replace(STUDY, floor=floor))
    assert scores["base"] == measured["base"]
    assert scores["mine"] == pytest.approx(max(level + 0.5 - stated, min(floor, level + 0.5)))
    assert -stated <= effect <= 0
    assert effect == pytest.approx(scores["mine"] - scores["base"], abs=1e-12)


@given(mean=st.floats(1.5, 1.7), counts=st.tuples(st.integers(5, 8), st.integers(5, 8)), pooled=st.booleans())
def test_an_interval_that_is_shown_is_the_one_that_decides(mean: float, counts: tuple[int, int], pooled: bool) -> None:
    """Of likeness those of 90%, of an order that of 95%, on the claimed side of 0."""
    alike = replace(claim(LIKENESS), requires=None)
    number = dict(zip(("mine", "base"), counts, strict=True))
    rows = measured_rows({"base": 1.6, "mine": mean, "other": 1.8}, counts=number)
    for each, confidence, mark in ((alike, 0.9, " (90%)"), (HELPS, 0.95, "]")):
        for comparison in judged(rows, each, rules=replace(STUDY, pooled=pooled)).primary:
            effect = comparison.effect
            assert effect is not None
            assert effect.low is not None
            assert effect.high is not None
            assert (comparison.verdict is Verdict.reproduced) == (effect.high <= 0)
            assert effect.content.confidence == confidence
            assert effect_text(effect, 3).endswith(mark)


def test_studies_take_the_variance_of_each_row_and_other_tables_that_of_all() -> None:
    rows = measured_rows({"base": 1.6, "mine": 1.5, "other": 1.6}, counts={"base": 8})
    loud = rows.by(Metric.ppl).with_compared([seeds(1.6, 8), seeds(1.5), seeds(1.6, 5, 0.5)])
    assert rows.measured is not None
    rows = replace(rows, measured=replace(rows.measured, ppl=loud))
    assert judged(rows).verdict is Verdict.reproduced
    assert judged(rows, rules=POOLED).verdict is Verdict.undecided


@pytest.mark.parametrize(("third", "is_tested"), [(None, False), (14.0, False), (16.0, True)])
def test_a_secondary_comparison_needs_its_own_rows_and_affects_no_verdict(third: float | None, is_tested: bool) -> None:
    secondary = [{"better": "mine", "worse": "third", "effect": 0.5}]
    rows = measured_rows(BETTER) if third is None else measured_rows({**BETTER, "third": 1.6}, {"third": third})
    found = judged(rows, claim(PAIR, secondary=secondary))
    assert found.verdict is Verdict.reproduced
    assert (found.secondary[0].verdict is not Verdict.not_tested) is is_tested


def test_the_papers_table_is_reproduced_by_a_table_of_its_own_numbers() -> None:
    names: Sequence[str] = [row.id for row in load_table3().rows]
    ppl, bleu = ({row: printed_score(metric, row) for row in names} for metric in Metric)
    rows = measured_rows(ppl, bleu, deviation=1e-4)
    found = judge_claims(load_claims(), rows, STUDY, projected=rows)
    assert {each.verdict for each in found} == {Verdict.reproduced}
    assert not any(one.is_smaller for each in found for one in each.primary)
    assert {each.claim.id: each.is_closing for each in found if each.is_closing is not False} == {
        "label_smoothing": None
    }


def test_intervals_that_rest_on_other_rows_are_named() -> None:
    noise = measured_rows({"base": 1.6, "mine": 1.6}, counts={"base": 3, "mine": 1}).by(Metric.ppl).noise
    assert noise is not None
    first, second = pooled_remarks({Metric.ppl: noise}, {"base": 3, "mine": 1})
    assert "0.010 log PPL, 2 degrees of freedom" in first
    assert second.startswith("intervals of mine assume ")
    assert len([*pooled_remarks({Metric.ppl: noise}, {"base": 3, "mine": 2})]) == 1
    assert [*pooled_remarks({}, {"base": 1})] == [
        "no intervals: no row has two seeds, so the variation between seeds is unknown"
    ]
