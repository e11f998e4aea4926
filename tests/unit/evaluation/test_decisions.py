"""Tests are Student's, corrections are Holm's, and plans reach the power of the tests that they consist of."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from aiayn.evaluation.decisions import Conjunction, Design, Hypothesis, Noise, decide, holm, lasting, opposite_steps
from aiayn.evaluation.significance import Floats

DRAWS = 20_000
NOISE = Noise(seeds=0.012**2, sentences=0.0025**2)
POSITIVE = Hypothesis({}, 1)

p_values = arrays.arrays(np.float64, st.integers(1, 8), elements=st.floats(0, 1))


def below(first: int, second: int, effect: float) -> Hypothesis:
    return Hypothesis({first: 1.0, second: -1.0}, -1, effect=effect)


def power(*claims: Conjunction, seeds: tuple[int, ...], pooled: bool = False) -> list[float]:
    return [*map(float, Design(claims, seeds, pooled).power([NOISE], draws=DRAWS))]


@given(p_values)
def test_holm_rejects_more_than_bonferroni_and_less_than_no_correction(found: Floats) -> None:
    rejected = holm(found, 0.05)
    assert (rejected >= (found <= 0.05 / len(found))).all()
    assert (rejected <= (found <= 0.05)).all()
    if rejected.any():
        assert found[rejected].max() <= found[~rejected].min(initial=1.0), "smaller p-values are rejected first"


def test_holm_is_the_textbooks() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.005]), 0.05).tolist() == [True, False, False, True]
    assert holm(np.array([[0.01, 0.04], [0.03, 0.04]]), 0.05).tolist() == [[True, True], [False, False]]


def test_identical_runs_decide_by_their_difference_alone() -> None:
    found = decide([POSITIVE] * 3, np.array([0.1, 0.0, -0.1]), np.zeros(3), np.full(3, np.inf))
    assert (found.supported.tolist(), found.contradicted.tolist()) == ([True, False, False], [False, False, True])


def test_without_a_known_error_nothing_is_decided_and_the_correction_still_counts() -> None:
    values, freedoms = np.array([9.0, 9.0, -2.4]), np.array([30.0] * 3)
    found = decide([POSITIVE] * 3, values, np.array([np.nan, np.nan, 1.0]), freedoms)
    assert found.p_supported[:2].tolist() == found.p_contradicted[:2].tolist() == [1, 1]
    assert not found.supported.any()
    assert not found.contradicted.any(), "p = 0.011, above 0.025 / 3"
    assert decide([POSITIVE], values[2:], np.ones(1), freedoms[2:]).contradicted.all()


def test_steps_are_opposite_to_the_claimed_sign_after_correction_over_the_slope() -> None:
    errors, freedoms = np.ones(3), np.full(3, np.inf)
    for last, found in ((2.5, True), (2.1, False), (-2.5, False)):  # p = 0.006, 0.018 > 0.05 / 3, 0.994
        steps = np.array([-1.0, -9.0, last])
        assert opposite_steps(-1, steps, errors, freedoms).tolist() == [False, False, found]
        assert opposite_steps(1, -steps, errors, freedoms).tolist() == [False, False, found]


@pytest.mark.parametrize(
    ("measured", "projected", "lasts"),
    [(9.0, 2.0, True), (9.0, 1.9, False), (-9.0, -2.0, True), (-9.0, -1.9, False), (-9.0, 9.0, False)],
)
def test_a_contrast_lasts_where_the_projected_one_excludes_0_on_its_side(
    measured: float, projected: float, lasts: bool
) -> None:
    found, late = (
        decide([POSITIVE], np.array([each]), np.ones(1), np.full(1, np.inf)) for each in (measured, projected)
    )
    assert lasting([POSITIVE], found, late).item() is lasts


@pytest.mark.parametrize("pooled", [True, False])
def test_power_is_that_of_the_t_test_for_one_comparison(pooled: bool) -> None:
    """0.8 at a difference of 2.8 standard errors, when many seeds make t normal."""
    error = math.sqrt(NOISE.seeds * (1 / 200 + 1 / 200) + NOISE.sentences)
    (found,) = power(Conjunction([below(0, 1, -2.8015 * error)]), seeds=(200, 200), pooled=pooled)
    assert found == pytest.approx(0.8, abs=0.015)


def test_a_claim_has_no_more_power_than_its_parts_and_the_claim_that_it_requires() -> None:
    effect, none, opposite = below(0, 1, -0.04), below(1, 2, 0.0), below(0, 2, 0.1)
    free, weak, both = Conjunction([effect]), Conjunction([none]), Conjunction([effect, none])
    falling, stepped = Conjunction([effect], [[effect]]), Conjunction([effect], [[effect, opposite]])
    claims = (free, weak, both, stepped, replace(free, requires=1), replace(free, requires=3), falling)
    found = power(*claims, seeds=(8, 8, 8))
    assert found[0] == found[6] > 0.9
    assert found[2] == found[4] <= found[1] < 0.03
    assert found[3] == found[5] == 0, "a step is opposite"


def test_measures_have_noises_of_their_own() -> None:
    quiet, loud = replace(NOISE, seeds=1e-8, sentences=1e-9), replace(NOISE, seeds=1.0)
    second = Hypothesis({0: 1.0, 1: -1.0}, 1, effect=0.5, measure=1)
    design = Design([Conjunction([below(0, 1, -0.03)]), Conjunction([second])], [5, 5], pooled=False)
    of_quiet, of_loud = design.power([quiet, loud])
    assert of_quiet == 1
    assert of_loud < 0.3


def test_one_seed_without_others_has_no_power() -> None:
    claim = Conjunction([below(0, 1, -1.0)])
    assert power(claim, seeds=(5, 1)) == power(claim, seeds=(1, 1), pooled=True) == [0.0]
    assert power(claim, seeds=(5, 1), pooled=True) == [1.0], "its variance is that of the other"
