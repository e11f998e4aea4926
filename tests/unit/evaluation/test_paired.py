"""Identical systems do not differ, better ones are found, and where nothing differs p is as often small as it says."""

import math

import numpy as np
import pytest

from aiayn.evaluation.paired import PairedTest, paired_test, score_interval
from aiayn.evaluation.significance import Floats, perplexities

TOKENS = 20


def likelihoods(generator: np.random.Generator, sentences: int, *, worse: float = 0.0) -> Floats:
    """NLL and tokens of sentences, which vary in how hard they are."""
    nll = TOKENS * (2 + worse + generator.normal(0, 0.3, sentences))
    return np.stack([nll, np.full(sentences, float(TOKENS))], axis=1)


def compared(first: Floats, second: Floats, *, resamples: int = 400) -> PairedTest:
    return paired_test(first, second, perplexities, resamples=resamples, seed=1)


def test_a_system_does_not_differ_from_itself() -> None:
    system = likelihoods(np.random.default_rng(0), 50)
    found = compared(system, system)
    assert (found.difference, found.low, found.high) == (0, 0, 0)
    assert (found.bootstrap_p, found.randomization_p) == (1, 1)


def test_exchanging_the_systems_exchanges_all_but_p() -> None:
    generator = np.random.default_rng(1)
    first, second = likelihoods(generator, 60), likelihoods(generator, 60, worse=0.05)
    there, back = compared(first, second), compared(second, first)
    assert (there.first, there.second) == (back.second, back.first)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert there.bootstrap_p == back.bootstrap_p
    assert there.randomization_p == back.randomization_p


def test_a_clearly_better_system_is_found() -> None:
    generator = np.random.default_rng(2)
    first = likelihoods(generator, 200)
    noise = np.stack([generator.normal(TOKENS * 0.1, 1, 200), np.zeros(200)], axis=1)
    found = compared(first, first + noise)
    assert found.bootstrap_p == found.randomization_p == 1 / 401  # the least that so many draws can say
    assert found.high < 0


def test_p_is_small_as_often_as_it_says_where_nothing_differs() -> None:
    generator, tries = np.random.default_rng(3), 200
    tests = [
        paired_test(likelihoods(generator, 40), likelihoods(generator, 40), perplexities, resamples=99, seed=number)
        for number in range(tries)
    ]
    for level in (0.1, 0.5):
        allowed = 4 * math.sqrt(level * (1 - level) / tries)
        for p in ("bootstrap_p", "randomization_p"):
            share = np.mean([getattr(test, p) <= level for test in tests])
            assert abs(share - level) < allowed, (p, level)


def test_small_samples_decide_nothing() -> None:
    system = likelihoods(np.random.default_rng(0), 3)
    found = compared(system, system + np.array([1, 0]))
    assert found.randomization_p == pytest.approx(2 / 8, abs=0.05), "of eight exchanges two give as much"


def test_an_infinite_perplexity_decides_nothing() -> None:
    system = likelihoods(np.random.default_rng(4), 10)
    useless = system * [1e6, 1]
    found = compared(useless, useless)
    assert found.first == math.inf
    assert (found.bootstrap_p, found.randomization_p) == (1, 1)


def test_the_interval_of_one_score_covers_the_truth_as_often_as_it_says() -> None:
    generator, tries = np.random.default_rng(4), 150
    found = [
        score_interval(likelihoods(generator, 60), perplexities, resamples=200, seed=number) for number in range(tries)
    ]
    covered = np.mean([low <= math.exp(2) <= high for low, high in found])
    assert 0.88 <= covered <= 0.99


def test_sentences_that_are_alike_leave_no_interval() -> None:
    alike = np.tile([40.0, 20.0], (30, 1))
    assert score_interval(alike, perplexities, resamples=100, seed=1) == pytest.approx((math.exp(2), math.exp(2)))
