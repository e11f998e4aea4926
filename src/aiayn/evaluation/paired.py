"""Whether two systems differ on the same sentences: a paired bootstrap, and paired approximate randomisation.

One system's score has an interval by the same bootstrap.

The bootstrap (Koehn 2004) resamples the sentences. Randomisation (Riezler and Maxwell 2005) exchanges the two systems'
outputs of random sentences. Neither covers the variation between training seeds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from aiayn.evaluation.significance import Floats, ScoreOfSums, quantiles
from aiayn.system.documents import NullIsInfinity

_BLOCK = 250
"""Resamples computed at once: 6 MB for 3,000 sentences."""

_ROUNDING = 1e-9
"""Tolerance of equal differences: sums of likelihoods depend on their order in the last digits."""


@dataclass(frozen=True)
class PairedTest:
    """One score of two systems on the same sentences."""

    first: Annotated[float, NullIsInfinity]
    """The score of the first."""
    second: Annotated[float, NullIsInfinity]
    """The score of the second."""
    low: Annotated[float, NullIsInfinity]
    """The lower end of the 95% bootstrap interval of first minus second."""
    high: Annotated[float, NullIsInfinity]
    """The upper end of this interval."""
    bootstrap_p: float
    """Two-sided: the share of draws at least as far from the mean draw as the difference is from 0."""
    randomization_p: float
    """Two-sided: the share of exchanges that give at least as large a difference."""
    difference: Annotated[float, NullIsInfinity]
    """The first minus the second."""


def paired_test(first: Floats, second: Floats, score: ScoreOfSums, *, resamples: int, seed: int) -> PairedTest:
    """Compare two systems by one score; exchanging the systems changes no p-value.

    Args:
        first: statistics of the score, [sentences, columns]; columns add up over sentences.
        second: the same of the other system.
        score: the score of summed columns.
        resamples: number of draws and of exchanges; no p-value is below 1 / (resamples + 1).
        seed: of draws and exchanges.
    """
    assert first.shape == second.shape, "the sentences are not the same"
    ours, theirs = float(score(first.sum(axis=0))), float(score(second.sum(axis=0)))
    observed, total, change = ours - theirs, first.sum(axis=0) + second.sum(axis=0), second - first
    generator = np.random.default_rng(seed)
    with np.errstate(invalid="ignore"):  # infinite perplexities leave NaN, which decides nothing
        drawn = np.concatenate([score(w @ first) - score(w @ second) for w in _draws(len(first), resamples, generator)])
        blocks = _blocks(resamples, lambda size: generator.integers(2, size=(size, len(first))))
        exchanged = (first.sum(axis=0) + is_exchanged @ change for is_exchanged in blocks)
        exchanges = np.concatenate([score(sums) - score(total - sums) for sums in exchanged])
        p_values = _share_at_least(drawn - drawn.mean(), observed), _share_at_least(exchanges, observed)
        return PairedTest(ours, theirs, *quantiles(drawn), *p_values, observed)


def score_interval(statistics: Floats, score: ScoreOfSums, *, resamples: int, seed: int) -> tuple[float, float]:
    """The 95% bootstrap interval of one system's score over the choice of sentences; arguments as of `paired_test`."""
    draws = _draws(len(statistics), resamples, np.random.default_rng(seed))
    with np.errstate(invalid="ignore", over="ignore"):
        return quantiles(np.concatenate([score(weights @ statistics) for weights in draws]))


def _share_at_least(differences: Floats, observed: float) -> float:
    """Share of differences, the observed one included, at least as far from 0 as it; NaN counts as far."""
    smaller = np.abs(differences) < abs(observed) * (1 - _ROUNDING) - _ROUNDING
    return float((~smaller).sum() + 1) / (len(differences) + 1)


def _draws(sentences: int, resamples: int, generator: np.random.Generator) -> Iterator[Floats]:
    """Counts of each sentence in each draw, [block, sentences]."""
    shares = np.full(sentences, 1 / sentences)
    return _blocks(resamples, lambda size: generator.multinomial(sentences, shares, size=size))


def _blocks(resamples: int, weights: Callable[[int], NDArray[np.int64]]) -> Iterator[Floats]:
    """Weights of each sentence in each resample, [block, sentences]."""
    sizes = (min(_BLOCK, resamples - start) for start in range(0, resamples, _BLOCK))
    return (weights(size).astype(np.float64) for size in sizes)
