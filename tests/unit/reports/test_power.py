"""The power of a plan follows from what earlier runs tell of it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured_rows import DEVIATION, measured_rows

from aiayn.errors import UserError
from aiayn.paper.claims import Claim, Metric, read_claim
from aiayn.reports.judgement import STUDY
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.power import (
    Evidence,
    Pilots,
    budget_grid,
    budgets,
    claim_powers,
    power_grid,
    published_evidence,
)
from aiayn.reports.verdicts import CUT
from aiayn.runs.record import read_record

MakeRun = Callable[..., Path]

SEEDS = {"base": 8, "mine": 5, "other": 5, "large": 5}
PAIR = {"better": "mine", "worse": "base", "effect": 0.02}
LEVELS = {"base": 1.6, "mine": 1.58, "other": 1.7, "large": 1.5}


def claim(primary: Mapping[str, Any] = PAIR, name: str = "x", **others: Any) -> Claim:
    return read_claim({"id": name, "statement": "X.", "primary": [primary], **others})


def evidence(
    levels: Mapping[str, float] = LEVELS, *, tells_effects: bool = False, deviation: float = DEVIATION
) -> Evidence:
    return Evidence("base", {None: measured_rows(levels, deviation=deviation)}, tells_effects)


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
    found = evidence()
    (noises, rows) = found.noises(None), found.measured[None]
    assert noises is not None
    noise = rows.by(Metric.ppl).noise
    assert noise is not None
    assert noises[Metric.ppl].seeds == noise.upper_variance(0.8) > noise.variance == pytest.approx(DEVIATION**2)
    assert found.in_words(None).startswith("standard deviation between seeds: 0.0100 log PPL (80% upper bound 0.0120)")


@pytest.mark.parametrize(
    ("primary", "levels", "tells_effects", "effects"),
    [
        (PAIR, LEVELS, False, [-0.02]),
        (PAIR, {**LEVELS, "mine": 1.5}, False, [-0.02]),
        (PAIR, {**LEVELS, "mine": 1.5}, True, [-0.1 * CUT]),
        (PAIR, {**LEVELS, "mine": 1.7}, True, [0.1 * CUT]),  # a difference that was opposite
        (PAIR, {"base": 1.6, "other": 1.7}, True, [-0.02]),  # a row that was not trained
        ({"trend": {"mine": 1, "base": 2, "large": 4}, "effect": 0.03}, LEVELS, True, [-0.04 * CUT]),
        ({"alike": ["mine", "base"], "share_of": ["other", "base"], "effect": 0.2}, LEVELS, True, [-0.025 * CUT] * 2),
        ({"alike": ["mine", "base"], "share_of": ["other", "base"], "effect": 0.2}, LEVELS, False, [-0.05] * 2),
    ],
)
def test_a_share_of_published_differences_is_assumed_and_else_the_stated_ones(
    primary: dict[str, Any], levels: dict[str, float], tells_effects: bool, effects: list[float]
) -> None:
    found = evidence(levels, tells_effects=tells_effects)
    (result,) = claim_powers([claim(primary)], SEEDS, found, STUDY)
    assert result.effects == pytest.approx(effects)


@pytest.mark.parametrize(("floor", "effect"), [(None, -0.2), (1.3, -0.2), (1.55, -0.05), (1.7, 0.0)])
def test_stated_effects_end_at_the_floor_of_the_corpus(floor: float | None, effect: float) -> None:
    stated, rules = claim({**PAIR, "effect": 0.2}), replace(STUDY, floor=floor)
    for levels in ({"base": 1.6}, LEVELS):
        (result,) = claim_powers([stated], SEEDS, evidence(levels), rules)
        assert result.effects == pytest.approx((effect,))
    (published,) = claim_powers([stated], SEEDS, evidence(tells_effects=True), rules)
    assert published.effects == pytest.approx((-0.02 * CUT,)), "it was reached"


def test_what_makes_a_verdict_other_than_reproduced_takes_power() -> None:
    """An opposite step of a trend, and a required claim."""
    trend = claim({"trend": {"mine": 1, "base": 2, "large": 4}, "effect": 0.05})
    assert power(evidence({"mine": 1.7, "base": 1.6, "large": 1.5}, tells_effects=True), trend) > 0.95
    wavy = evidence({"mine": 1.7, "base": 1.4, "large": 1.5}, tells_effects=True)
    assert power(wavy, trend) < 0.01
    hard, easy = (claim({**PAIR, "effect": effect}, "hard") for effect in (0.001, 0.1))
    for required in (hard, easy):
        resting = claim({**PAIR, "effect": 0.1}, requires="hard")
        assert power(evidence(), resting, required) == pytest.approx(power(evidence(), required), abs=0.01)


def test_without_two_seeds_nothing_is_promised() -> None:
    for rows in (MeasuredRows(None, {}), measured_rows({"base": 1.6}, counts={"base": 1})):
        found = Evidence("base", {None: rows}, tells_effects=False)
        assert "power is unknown" in found.in_words(None)
        results = claim_powers([claim()], SEEDS, found, STUDY)
        assert results[0].power is None
        assert power_grid(results).groups == ((("x", "PPL of mine < base", "−0.020", "−0.020", "", ""),),)


def test_power_is_shown_by_steps_and_seeds_and_too_little_is_named() -> None:
    claims = [claim({**PAIR, "effect": 0.1}, "clear"), claim({**PAIR, "effect": 0.001}, "hopeless")]
    early = Evidence("base", {500: measured_rows(LEVELS, deviation=0.1), **evidence().measured}, tells_effects=False)
    clear, hopeless = power_grid(claim_powers(claims, SEEDS, early, STUDY)).groups[0]
    assert (clear[-2:], hopeless[-1]) == (("100%", ""), "under-powered beforehand")
    found = budgets(claims, SEEDS, early, STUDY)
    assert [(each.steps, each.name) for each in found] == [
        (steps, name) for steps in (500, None) for name in ("as planned", "5 each", "8 each", "12 each")
    ]
    grid = budget_grid(found)
    assert grid.groups[0][4] == ("all", "as planned", "100%", hopeless[-2])
    assert found[0].plain() == {
        "steps": 500,
        "seeds": SEEDS,
        "powers": {each.claim.id: each.power for each in found[0].powers},
    }
    for steps in (500, None):
        powers = [each.powers[0].power or 0.0 for each in found if each.steps == steps and each.name != "as planned"]
        assert powers == sorted(powers)


def names(*runs: Path) -> dict[int, str]:
    return {number: str(run.relative_to(run.parents[2])) for number, run in enumerate(runs)}


def test_pilots_tell_how_seeds_vary_at_every_budget(tmp_path: Path, make_run: MakeRun) -> None:
    def curve(seed: int) -> dict[int, float]:
        return {step: math.exp(2 + (0.1 if step <= 500 else 0.01) * (seed % 7)) for step in range(100, 1100, 100)}

    runs = [make_run("base", seed=seed, curve=curve(seed)) for seed in (1001, 1002, 1003)]
    planned = {"base": names(*runs) | {9: "table3/base/missing"}}
    pilots = Pilots.read(tmp_path / "runs", planned, "base")
    assert pilots.unfinished == ["table3/base/missing"]
    assert pilots.in_words() == "pilots: 3 of base finished"
    assert [result.seed for result in pilots.results()] == [1001, 1002, 1003]
    stated = [math.log(read_record(run / "run.json").scores["dev"].ppl) for run in runs]
    assert [result.log_ppl for result in pilots.results()] == pytest.approx(stated)
    found = pilots.evidence([None, 500])
    assert not found.tells_effects
    noises = [found.measured[steps].by(Metric.ppl).noise for steps in (500, None)]
    assert [0.0 if each is None else each.deviation for each in noises] == pytest.approx([0.1, 0.01])


def test_pilots_of_two_corpora_are_refused(tmp_path: Path, make_run: MakeRun) -> None:
    runs = [make_run("base"), make_run("base", seed=2, data_fingerprint="e" * 64)]
    with pytest.raises(UserError, match=r"data differs, .* rerun the pilots of other data with force=true"):
        Pilots.read(tmp_path / "runs", {"base": names(*runs)}, "base")


def test_an_infinite_perplexity_is_kept_as_none(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run("base", nll=math.inf)
    (result,) = Pilots.read(tmp_path / "runs", {"base": names(run)}, "base").results()
    assert result.log_ppl is None


def test_a_folder_without_a_publication_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^hydra\.sweeper\.power_from="):
        published_evidence(tmp_path, "base", [None], {})
