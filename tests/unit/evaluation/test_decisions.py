"""Tests keep the levels that they state, under any truth, and reach the power that is promised."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from aiayn.evaluation.decisions import Design, Hypothesis, Noise, decide, holm
from aiayn.evaluation.significance import Floats

DRAWS = 20_000
NOISE = Noise(seeds=0.012**2, sentences=0.0025**2)
ORDERINGS = [Hypothesis(first, second, -1) for first, second in ((0, 1), (1, 2), (3, 0), (0, 4), (4, 5), (6, 0))]
ALIKE = Hypothesis(7, 0, 0, margin=0.018)

p_values = arrays.arrays(np.float64, st.integers(1, 8), elements=st.floats(0, 1))


def at_most(share: float, draws: int = DRAWS) -> float:
    """The largest share that a simulation may measure."""
    return share + 4 * math.sqrt(share * (1 - share) / draws)


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


def test_under_no_difference_false_contradictions_stay_under_the_level_in_a_table() -> None:
    design = Design([*ORDERINGS, replace(ALIKE, effect=0.0)], [[n] for n in range(7)], [8, 4, 4, 4, 4, 4, 4, 4])
    found = design.simulate([NOISE], np.random.default_rng(0), DRAWS)
    assert found.contradicted.any(axis=-1).mean() <= at_most(0.025)
    assert found.supported[:, :-1].mean(axis=0).max() <= at_most(0.025)


@pytest.mark.parametrize("true", [0, 1])
def test_a_claim_of_several_comparisons_is_falsely_supported_no_more_often_than_one(true: int) -> None:
    """Also where all but one of its comparisons are plainly true, the worst case of a conjunction."""
    effects = [-1.0 if true else 0.0] * 5 + [0.0]
    hypotheses = [replace(each, effect=effect) for each, effect in zip(ORDERINGS, effects, strict=True)]
    design = Design(hypotheses, [range(6)], [8, *[4] * 6])
    assert design.power([NOISE], draws=DRAWS)[0] <= at_most(0.025)


@pytest.mark.parametrize("side", [-1, 1])
def test_systems_that_differ_by_the_margin_are_falsely_called_alike_in_5_of_100_tables(side: int) -> None:
    noise = replace(NOISE, seeds=0.004**2)
    design = Design([replace(ALIKE, effect=side * ALIKE.margin)], [[0]], [12, *[8] * 7])
    assert 0.03 <= design.power([noise], draws=DRAWS)[0] <= at_most(0.05)
    contradicted = design.simulate([noise], np.random.default_rng(3), DRAWS).contradicted
    assert contradicted.mean() <= at_most(0.025)


def test_far_beyond_the_margin_is_contradicted_and_close_to_0_is_alike() -> None:
    errors, freedoms = np.array([0.001]), np.array([20.0])
    far, near, open_ = (decide([ALIKE], np.array([value]), errors, freedoms) for value in (0.05, 0.001, 0.018))
    assert (far.contradicted.item(), far.supported.item()) == (True, False)
    assert (near.contradicted.item(), near.supported.item()) == (False, True)
    assert (open_.contradicted.item(), open_.supported.item()) == (False, False)


@given(st.floats(-1, 1), st.floats(1e-4, 1), st.floats(1, 100))
def test_an_ordering_and_its_opposite_exchange_support_and_contradiction(
    difference: float, error: float, freedom: float
) -> None:
    arguments = np.array([difference]), np.array([error]), np.array([freedom])
    one, other = (decide([Hypothesis(0, 1, sign)], *arguments) for sign in (1, -1))
    assert one.p_supported == pytest.approx(other.p_contradicted)
    assert one.supported.item() == other.contradicted.item()


def test_p_values_are_students() -> None:
    values = 0.5 * np.array([0.0, 2.2281388520, np.nan])
    found = decide([Hypothesis(0, 1, 1)] * 3, values, np.full(3, 0.5), np.full(3, 10.0))
    assert found.p_supported == pytest.approx(np.array([0.5, 0.025, 1.0]))
    assert found.p_contradicted == pytest.approx(np.array([0.5, 0.975, 1.0]))


def test_without_a_known_error_nothing_is_decided_and_the_correction_still_counts() -> None:
    hypotheses = [Hypothesis(0, 1, 1)] * 3
    values, freedoms = np.array([9.0, 9.0, -2.4]), np.array([30.0] * 3)
    found = decide(hypotheses, values, np.array([np.nan, np.nan, 1.0]), freedoms)
    assert not found.supported.any()
    assert not found.contradicted.any(), "p = 0.011, above 0.025 / 3"
    assert decide(hypotheses[2:], values[2:], np.ones(1), freedoms[2:]).contradicted.all()


def test_power_is_that_of_the_t_test_for_one_comparison() -> None:
    """0.8 at a difference of 2.8 standard errors, when many seeds make t normal."""
    error = math.sqrt(NOISE.seeds * (1 / 200 + 1 / 200) + NOISE.sentences)
    design = Design([Hypothesis(0, 1, -1, effect=-2.8015 * error)], [[0]], [200, 200])
    assert design.power([NOISE], draws=DRAWS)[0] == pytest.approx(0.8, abs=0.015)


def test_power_is_per_claim_and_grows_with_seeds_and_effects() -> None:
    hypotheses = [Hypothesis(0, 1, -1, effect=-0.03), Hypothesis(0, 2, -1, effect=-0.03)]
    single, double = Design(hypotheses, [[0], [0, 1]], [8, 4, 4]).power([NOISE])
    assert double < single
    assert Design(hypotheses, [[0]], [16, 8, 8]).power([NOISE])[0] > single
    larger = [replace(each, effect=-0.04) for each in hypotheses]
    assert Design(larger, [[0]], [8, 4, 4]).power([NOISE])[0] > single


def test_the_seeds_needed_are_the_fewest_with_power() -> None:
    hypotheses = [Hypothesis(0, 1, -1, effect=-0.02), Hypothesis(2, 0, -1, effect=-0.03)]
    design = Design(hypotheses, [[0, 1]], [2, 2, 2])
    needed = design.seeds_needed([NOISE], [2.0, 1.0, 1.0])
    assert needed is not None
    for count, has_power in ((needed, True), (needed - 1, False)):
        power = replace(design, seeds=[2 * count, count, count]).power([NOISE])[0]
        assert bool(power >= 0.8) is has_power
    # The sentences alone hide it, however many seeds there are.
    assert design.seeds_needed([replace(NOISE, sentences=0.05**2)], [1.0, 1.0, 1.0]) is None


def test_measures_have_noises_of_their_own() -> None:
    quiet, loud = replace(NOISE, seeds=1e-8, sentences=1e-9), replace(NOISE, seeds=1.0)
    hypotheses = [Hypothesis(0, 1, -1, effect=-0.03, measure=0), Hypothesis(0, 1, 1, effect=0.5, measure=1)]
    powers = Design(hypotheses, [[0], [1]], [4, 4]).power([quiet, loud])
    assert powers[0] == 1
    assert powers[1] < 0.3
