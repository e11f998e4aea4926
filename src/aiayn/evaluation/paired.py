"""Whether two systems differ on the same sentences: a paired bootstrap, and paired approximate randomisation.

The bootstrap (Koehn 2004) resamples the sentences and estimates how the difference varies over other sentences of
their kind. Randomisation (Riezler and Maxwell 2005) exchanges the two systems' outputs of random sentences and gives
the differences between systems that do not differ. Neither covers the variation between training seeds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aiayn.evaluation.significance import CONFIDENCE

Floats: TypeAlias = NDArray[np.float64]

ScoreOfSums: TypeAlias = Callable[[Floats], Floats]
"""From summed columns, [..., columns], to scores, [...]."""

_BLOCK = 250
"""Resamples computed at once, which bounds the memory: 6 MB for 3,000 sentences."""

_ROUNDING = 1e-9
"""Differences that are this near are equal: sums of likelihoods depend on their order in the last digits."""


@dataclass(frozen=True)
class PairedTest:
    """One score of two systems on the same sentences."""

    first: float
    second: float
    low: float
    """Of the 95% interval of first minus second, by the bootstrap."""
    high: float
    bootstrap_p: float
    """Two-sided: the share of draws that are as far from the mean draw as the difference is from 0."""
    randomization_p: float
    """Two-sided: the share of exchanges that give as large a difference."""

    @property
    def difference(self) -> float:
        """The first minus the second."""
        return self.first - self.second


def paired_test(first: Floats, second: Floats, score: ScoreOfSums, *, resamples: int, seed: int) -> PairedTest:
    """Compare two systems by one score.

    Exchanging the systems exchanges their scores and the interval's ends, and changes no p-value.

    Args:
        first: what the score is made of, [sentences, columns]; columns add up over sentences.
        second: the same of the other system.
        score: the score of summed columns.
        resamples: draws of the bootstrap, and exchanges as many; no p-value is below 1 / (resamples + 1).
        seed: of both; the same seed draws the same.
    """
    assert first.shape == second.shape, "the sentences are not the same"
    ours, theirs = float(score(first.sum(axis=0))), float(score(second.sum(axis=0)))
    observed = ours - theirs
    generator = np.random.default_rng(seed)
    with np.errstate(invalid="ignore"):  # infinite perplexities leave NaN, which decides nothing
        drawn = np.concatenate([score(w @ first) - score(w @ second) for w in _draws(len(first), resamples, generator)])
        low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        bootstrap_p = _share_at_least(drawn - drawn.mean(), observed)
        randomization_p = _share_at_least(_exchanges(first, second, score, resamples, generator), observed)
    return PairedTest(ours, theirs, float(low), float(high), bootstrap_p, randomization_p)


def _exchanges(
    first: Floats, second: Floats, score: ScoreOfSums, resamples: int, generator: np.random.Generator
) -> Floats:
    """Differences after the outputs of random sentences were exchanged, [resamples]."""
    change, total = second - first, first.sum(axis=0) + second.sum(axis=0)
    differences = []
    for size in _blocks(resamples):
        sums = first.sum(axis=0) + generator.integers(2, size=(size, len(first))).astype(np.float64) @ change
        differences.append(score(sums) - score(total - sums))
    return np.concatenate(differences)


def _share_at_least(differences: Floats, observed: float) -> float:
    """Share of differences at least as far from 0 as the observed one, itself included; NaN counts as such."""
    smaller = np.abs(differences) < abs(observed) * (1 - _ROUNDING) - _ROUNDING
    return float((~smaller).sum() + 1) / (len(differences) + 1)


def _draws(sentences: int, resamples: int, generator: np.random.Generator) -> Iterator[Floats]:
    """Counts of each sentence in each draw, [block, sentences]."""
    for size in _blocks(resamples):
        drawn = generator.multinomial(sentences, np.full(sentences, 1 / sentences), size=size)
        yield drawn.astype(np.float64)


def _blocks(resamples: int) -> Iterator[int]:
    return (min(_BLOCK, resamples - start) for start in range(0, resamples, _BLOCK))
