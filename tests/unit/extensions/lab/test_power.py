"""The power of a plan follows from what earlier runs tell of it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured_rows import DEVIATION, measured_rows

from aiayn.extensions.lab.power import (
    BudgetContent,
    Evidence,
    budget_grid,
    budgets,
    claim_powers,
    power_grid,
)
from aiayn.paper.claims import Claim, Metric, read_claim
from aiayn.reports.judgement import STUDY
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.verdicts import CUT

SEEDS = {"base": 8, "mine": 5, "other": 5, "large": 5}
PAIR = {"better": "mine", "worse": "base", "effect": 0.02}
LEVELS = {"base": 1.6, "mine": 1.58, "other": 1.7, "large": 1.5}
BASE_ALONE = {"base": 1.6}


def claim(primary: Mapping[str, Any] = PAIR, name: str = "x", **others: Any) -> Claim:
    return read_claim({"id": name, "statement": "X.", "primary": [primary], **others})


def evidence(levels: Mapping[str, float] = BASE_ALONE, *, deviation: float = DEVIATION) -> Evidence:
    return Evidence("base", {None: measured_rows(levels, deviation=deviation)})


def power(found: Evidence, *claims: Claim, seeds: Mapping[str, int] = SEEDS) -> float:
    """Of the first claim."""
    (result, *_) = claim_powers(claims or (claim(),), seeds, found, STUDY)
    assert result.power is not None
    return result.power


@settings(max_examples=10)
@given(deviation=st.floats(0.005, 0.05), count=st.integers(5, 10), effect=st.floats(0.005, 0.05))
def test_power_grows_with_seeds_and_effects_and_falls_with_the_variance(
    deviation: float, count: int, effect: float
) -> None:
    found, stated = evidence(deviation=deviation), claim({**PAIR, "effect": effect})
    fewer, more = ({**SEEDS, "base": 2 * number, "mine": number} for number in (count, 2 * count))
    some = power(found, stated, seeds=fewer)
    slack = 0.03  # of the simulation
    assert power(found, stated, seeds=more) >= some - slack
    assert power(found, claim({**PAIR, "effect": 2 * effect}), seeds=fewer) >= some - slack
    assert power(evidence(deviation=2 * deviation), stated, seeds=fewer) <= some + slack


def test_the_upper_bound_of_the_variance_is_assumed() -> None:
    found = evidence(LEVELS)
    (noises, rows) = found.noises(None), found.measured[None]
    assert noises is not None
    noise = rows.by(Metric.ppl).noise
    assert noise is not None
    assert noises[Metric.ppl].seeds == noise.upper_variance(0.8) > noise.variance == pytest.approx(DEVIATION**2)
    assert found.in_words.startswith("standard deviation between seeds: 0.0100 log PPL (80% upper bound 0.0120)")


@pytest.mark.parametrize(
    ("primary", "levels", "effects"),
    [
        (PAIR, BASE_ALONE, [-0.02]),
        (PAIR, {**LEVELS, "mine": 1.5}, [-0.1 * CUT]),
        (PAIR, {**LEVELS, "mine": 1.7}, [0.1 * CUT]),  # a difference that was opposite
        (PAIR, {"base": 1.6, "other": 1.7}, [-0.02]),  # a row that was not trained
        ({"trend": {"mine": 1, "base": 2, "large": 4}, "effect": 0.03}, LEVELS, [-0.04 * CUT]),
        ({"alike": ["mine", "base"], "share_of": ["other", "base"], "effect": 0.2}, LEVELS, [-0.025 * CUT] * 2),
        ({"alike": ["mine", "base"], "share_of": ["other", "base"], "effect": 0.2}, BASE_ALONE, [-0.05] * 2),
        ({"alike": ["mine", "base"], "within": 0.1}, BASE_ALONE, [-0.1] * 2),
    ],
)
def test_a_share_of_measured_differences_is_assumed_and_else_the_stated_ones(
    primary: dict[str, Any], levels: dict[str, float], effects: list[float]
) -> None:
    (result,) = claim_powers([claim(primary)], SEEDS, evidence(levels), STUDY)
    assert result.effects == pytest.approx(effects)


@pytest.mark.parametrize(("floor", "effect"), [(None, -0.2), (1.3, -0.2), (1.55, -0.05), (1.7, 0.0)])
def test_stated_effects_end_at_the_floor_of_the_corpus(floor: float | None, effect: float) -> None:
    stated, rules = claim({**PAIR, "effect": 0.2}), replace(STUDY, floor=floor)
    (result,) = claim_powers([stated], SEEDS, evidence(), rules)
    assert result.effects == pytest.approx((effect,))
    (measured,) = claim_powers([stated], SEEDS, evidence(LEVELS), rules)
    assert measured.effects == pytest.approx((-0.02 * CUT,)), "it was reached"


def test_what_makes_a_verdict_other_than_reproduced_takes_power() -> None:
    """An opposite step of a trend, and a required claim."""
    trend = claim({"trend": {"mine": 1, "base": 2, "large": 4}, "effect": 0.05})
    assert power(evidence({"mine": 1.7, "base": 1.6, "large": 1.5}), trend) > 0.95
    wavy = evidence({"mine": 1.7, "base": 1.4, "large": 1.5})
    assert power(wavy, trend) < 0.01
    hard, easy = (claim({**PAIR, "effect": effect}, "hard") for effect in (0.001, 0.1))
    for required in (hard, easy):
        resting = claim({**PAIR, "effect": 0.1}, requires="hard")
        assert power(evidence(), resting, required) == pytest.approx(power(evidence(), required), abs=0.01)


def test_without_two_seeds_nothing_is_promised() -> None:
    for rows in (MeasuredRows(None, {}), measured_rows({"base": 1.6}, counts={"base": 1})):
        found = Evidence("base", {None: rows})
        assert "power is unknown" in found.in_words
        results = claim_powers([claim()], SEEDS, found, STUDY)
        assert results[0].power is None
        assert power_grid(results).groups == ((("x", "PPL of mine < base", "−0.020", "−0.020", "", ""),),)


def test_power_is_shown_by_steps_and_seeds_and_too_little_is_named() -> None:
    claims = [claim({**PAIR, "effect": 0.1}, "clear"), claim({**PAIR, "effect": 0.001}, "hopeless")]
    early = Evidence("base", {500: measured_rows(BASE_ALONE, deviation=0.1), **evidence().measured})
    clear, hopeless = power_grid(claim_powers(claims, SEEDS, early, STUDY)).groups[0]
    assert (clear[-2:], hopeless[-1]) == (("100%", ""), "under-powered beforehand")
    found = budgets(claims, SEEDS, early, STUDY)
    assert [(each.steps, each.name) for each in found] == [
        (steps, name) for steps in (500, None) for name in ("as planned", "5 each", "8 each", "12 each")
    ]
    grid = budget_grid(found)
    assert grid.groups[0][4] == ("all", "as planned", "100%", hopeless[-2])
    assert found[0].content == BudgetContent(500, SEEDS, {each.claim.id: each.power for each in found[0].powers})
    for steps in (500, None):
        powers = [each.powers[0].power or 0.0 for each in found if each.steps == steps and each.name != "as planned"]
        assert powers == sorted(powers)
