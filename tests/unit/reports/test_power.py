"""The detectable effects and the needed seeds that are printed have the promised power."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.evaluation.decisions import Noise
from aiayn.paper.claims import Claim, Comparison, Metric
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


def test_pilots_of_two_corpora_are_refused(tmp_path: Path, make_run: MakeRun) -> None:
    runs = [make_run("base"), make_run("base", seed=2, data_fingerprint="e" * 64)]
    with pytest.raises(UserError, match=r"data differs, .* rerun the pilots of other data with force=true"):
        Pilots.read(tmp_path / "runs", {"base": names(*runs)}, "base")


def test_an_infinite_perplexity_is_kept_as_none(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run("base", nll=math.inf)
    (result,) = Pilots.read(tmp_path / "runs", {"base": names(run)}, "base").results()
    assert result.log_ppl is None
