"""The detectable effects and the needed seeds that are printed have the promised power."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.evaluation.decisions import Noise
from aiayn.paper.claims import Claim, Comparison, Converged, Metric
from aiayn.reports.gates import chance_to_converge
from aiayn.reports.judgement import power_of
from aiayn.reports.power import Pilots, claim_powers, power_grid
from aiayn.runs.record import read_record

MakeRun = Callable[..., Path]

SEEDS = {"base": 8, "mine": 4, "other": 4}
BETTER = Comparison(Metric.ppl, "mine", "base", None, -0.03)
BLEU = Comparison(Metric.bleu, "mine", "base", None, 0.5)
ALIKE = Comparison(Metric.ppl, "other", "base", 0.02, 0.0)


def claim(*primary: Comparison) -> Claim:
    return Claim("x", "X.", primary)


def scaled(found: Claim, factor: float) -> Claim:
    return replace(
        found,
        primary=tuple(
            replace(each, effect=factor * each.effect, within=None if each.within is None else factor * each.within)
            for each in found.primary
        ),
    )


@settings(max_examples=15)
@given(
    st.sampled_from([claim(BETTER), claim(ALIKE), claim(BETTER, ALIKE), claim(BETTER, BLEU)]),
    st.floats(0.002, 0.05),
)
def test_the_detectable_effect_and_the_seeds_have_80_percent_power(found: Claim, deviation: float) -> None:
    noise = Noise(deviation**2, 1e-6)
    noises = {Metric.ppl: noise, Metric.bleu: replace(noise, seeds=100 * noise.seeds)}
    (result,) = claim_powers([found], SEEDS, "base", noises)
    assert result.factor is not None
    at, below = (
        power_of([scaled(found, factor)], SEEDS, noises)[0] for factor in (result.factor, result.factor / 1.02)
    )
    assert at is not None
    assert below is not None
    assert at >= 0.8 > below
    assert result.power is not None
    assert result.factor <= 1.01 if result.power >= 0.8 else result.factor > 1, "found to 1%"
    if result.seeds is not None:
        assert result.seeds.keys() == {*found.rows}
        fewest = min(result.seeds.values())  # rows that the claim is not about have as many
        (with_them,) = power_of([found], dict.fromkeys(SEEDS, fewest) | dict(result.seeds), noises)
        assert with_them is not None
        assert with_them >= 0.8 - 0.02


def test_without_pilots_nothing_is_promised() -> None:
    (result,) = claim_powers([claim(BETTER)], SEEDS, "base", None)
    assert (result.power, result.factor, result.seeds) == (None, None, None)
    assert power_grid([result]).groups == ((("x", "PPL of mine < base", "−0.030", "", "", ""),),)


def names(*runs: Path) -> dict[int, str]:
    return {number: str(run.relative_to(run.parents[2])) for number, run in enumerate(runs)}


def test_pilots_tell_how_seeds_vary(tmp_path: Path, make_run: MakeRun) -> None:
    runs = [make_run("base", seed=seed, nll=2.0 + 0.1 * seed) for seed in (1001, 1002, 1003)]
    planned = {"base": names(*runs) | {9: "table3/base/missing"}}
    pilots = Pilots.read(tmp_path / "runs", planned, "base")
    assert pilots.unfinished == ["table3/base/missing"]
    assert pilots.noises is not None
    assert [result.seed for result in pilots.results()] == [1001, 1002, 1003]
    stated = [math.log(read_record(run / "run.json").scores["dev"].ppl) for run in runs]
    assert [result.log_ppl for result in pilots.results()] == pytest.approx(stated)
    noise = pilots.measured.by(Metric.ppl).noise
    assert noise is not None
    assert f"3 of base; standard deviation between seeds: {noise.deviation:.4f} log PPL" in pilots.in_words()
    assert pilots.noises[Metric.ppl].seeds > noise.variance, "the upper bound"


def test_one_pilot_tells_nothing(tmp_path: Path, make_run: MakeRun) -> None:
    pilots = Pilots.read(tmp_path / "runs", {"base": names(make_run("base"))}, "base")
    assert pilots.noises is None
    assert "power is unknown" in pilots.in_words()
    assert "none finished" in Pilots.read(tmp_path / "runs", {}, "base").in_words()


RECORDED = (8.9739, 9.0625), (8.7731, 8.7400), (8.6620, 8.8376), (8.9079, 8.9872)
"""Perplexities of base on dev at steps 4,500 and 5,000, of the pilots of the lab's over-fitting arm."""


def test_a_gate_that_pilots_may_pass_by_chance_is_named(tmp_path: Path, make_run: MakeRun) -> None:
    runs = [
        make_run("base", seed=1001 + number, curve={4500: early, 5000: late})
        for number, (early, late) in enumerate(RECORDED)
    ]
    gated = replace(claim(BETTER), gates={"converged": Converged(0.01, 0.1)})
    pilots = Pilots.read(tmp_path / "runs", {"base": names(*runs)}, "base")
    assert not list(pilots.failed_gates([gated]))
    (line,) = pilots.uncertain_gates([gated], SEEDS | {"base": 6})
    found = re.fullmatch(r"gates of x: 6 runs like the pilots of base converge with a probability of (\d+)%", line)
    assert found
    assert 45 <= int(found[1]) <= 60
    wide = replace(gated, gates={"converged": Converged(0.05, 0.1)})
    assert not list(pilots.uncertain_gates([wide, claim(BETTER)], SEEDS))
    narrow = replace(gated, gates={"converged": Converged(0.001, 0.1)})
    assert list(pilots.failed_gates([narrow]))
    assert not list(pilots.uncertain_gates([narrow], SEEDS)), "the reason is stated instead"


@given(st.lists(st.floats(-0.02, 0.02), min_size=2, max_size=6), st.integers(1, 8))
def test_the_chance_to_converge_grows_with_the_limit_and_is_half_at_it(changes: list[float], seeds: int) -> None:
    curves = [{900: 5.0, 1000: 5.0 * math.exp(change)} for change in changes]
    chances = [
        chance_to_converge(Converged(limit, 0.1), curves, seeds, may_rise=False) or 0.0
        for limit in (0.001, 0.01, 0.1, 0.9)
    ]
    assert chances == pytest.approx(sorted(chances), abs=1e-9)
    assert chances[0] >= 0
    assert chances[-1] > 0.5
    may_rise = chance_to_converge(Converged(0.01, 0.1), curves, seeds, may_rise=True)
    assert may_rise is not None
    assert may_rise >= chances[1] - 1e-9
    mean = sum(changes) / len(changes)
    assume(-mean > 0.001 and max(changes) - min(changes) > 1e-6)
    at_mean = chance_to_converge(Converged(-math.expm1(mean), 0.1), curves, seeds, may_rise=True)
    assert at_mean == pytest.approx(0.5, abs=1e-3)


def test_the_chance_to_converge_is_that_of_simulated_studies() -> None:
    random = np.random.default_rng(0)
    chances = []
    for _ in range(2000):
        changes = -0.1 + 0.01 * random.standard_normal(10)
        pilots = [{900: 5.0, 1000: 5.0 * math.exp(change)} for change in changes[:4]]
        fall = -math.expm1(changes[4:].mean())  # a limit that the runs just reach
        chances.append(chance_to_converge(Converged(fall, 0.1), pilots, 6, may_rise=True))
    for share in (0.1, 0.5, 0.9):
        assert np.mean(np.array(chances) < share) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("curves", [[], [{900: 5.0, 1000: 4.99}], [{1000: 5.0}] * 2, [{900: 5.0, 1000: math.inf}] * 2])
def test_without_two_known_falls_there_is_no_chance_to_converge(curves: list[dict[int, float]]) -> None:
    assert chance_to_converge(Converged(0.01, 0.1), curves, 6, may_rise=False) is None


def test_pilots_of_two_corpora_are_refused(tmp_path: Path, make_run: MakeRun) -> None:
    runs = [make_run("base"), make_run("base", seed=2, data_fingerprint="e" * 64)]
    with pytest.raises(UserError, match=r"data differs, .* rerun the pilots of other data with force=true"):
        Pilots.read(tmp_path / "runs", {"base": names(*runs)}, "base")


def test_an_infinite_perplexity_is_kept_as_none(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run("base", nll=math.inf)
    (result,) = Pilots.read(tmp_path / "runs", {"base": names(run)}, "base").results()
    assert result.log_ppl is None
