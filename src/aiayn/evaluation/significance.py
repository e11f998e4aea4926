"""Significance of differences between trained systems: a paired bootstrap over sentences, widened by seed variance.

Every resample draws the sentences of the split with replacement and scores all systems on the same draw (Koehn 2004),
so that the difficulty of sentences cancels in differences. A system's score is the mean over its seeds. The variance
between seeds is estimated from the seeds of all systems together and added to every resample as a normal deviate whose
variance is drawn from its posterior; a difference that varies by seeds alone then has Student's t interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aiayn.evaluation.bleu import MAX_ORDER
from aiayn.evaluation.sentences import SentenceScores

Floats = NDArray[np.float64]

COLUMNS = 2 + 2 + 2 * MAX_ORDER
"""Of a sentence: NLL, tokens, and one row of `aiayn.evaluation.bleu.sentence_statistics`."""

CONFIDENCE = 0.95
NORMAL_QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def quantiles(draws: ArrayLike) -> tuple[float, float]:
    """The ends of the 95% interval over draws."""
    low, high = np.quantile(np.asarray(draws), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def sentence_columns(rows: Sequence[SentenceScores]) -> Floats:
    """The scores of one run's sentences as float64 [sentences, COLUMNS]; the columns add up."""
    return np.array([(row.nll, row.tokens, *row.bleu_statistics) for row in rows], dtype=np.float64)


def perplexities(sums: Floats) -> Floats:
    """exp(NLL / tokens) of summed columns, [..., COLUMNS] to [...]; inf where it exceeds a float."""
    with np.errstate(over="ignore"):
        result: Floats = np.exp(sums[..., 0] / sums[..., 1])
    return result


def bleu_scores(sums: Floats) -> Floats:
    """BLEU, 0 to 100, of summed columns, [..., COLUMNS] to [...]: sacreBLEU's with its default smoothing."""
    hypothesis, reference = sums[..., 2], sums[..., 3]
    matches, totals = sums[..., 4 : 4 + MAX_ORDER], sums[..., 4 + MAX_ORDER :]
    halvings = np.exp2(np.cumsum(matches == 0, axis=-1))  # the n-th order without a match counts as 1 / 2^n matches
    smoothed = np.where(matches == 0, 1 / halvings, matches)
    precisions = np.log(100 * smoothed / np.maximum(totals, 1)).mean(axis=-1)
    brevity = np.minimum(0.0, 1 - reference / np.maximum(hypothesis, 1))
    is_scored = (matches > 0).any(axis=-1) & (totals > 0).all(axis=-1)
    return np.where(is_scored, np.exp(precisions + brevity), 0.0)


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Interval(Estimate):
    """A score, or a difference of two."""

    sentence_variance: float
    """Of the estimate, by the choice of sentences."""
    seed_variance: float | None
    """Of the estimate if each side were one run, by the choice of seed; None if no system has two."""

    def around(self, estimate: float) -> Self:
        """The same width around another estimate."""
        shift = estimate - self.estimate
        return replace(self, estimate=estimate, low=self.low + shift, high=self.high + shift)


@dataclass(frozen=True)
class Resampled:
    """One metric of several systems, as measured and as resampled."""

    values: Floats
    """[systems], the mean over seeds on all sentences."""
    deviations: Floats
    """[systems], the standard deviation over seeds; NaN for one seed."""
    seed_deviation: float | None
    """Of single runs around their system's mean, pooled over systems; None if none has two seeds."""
    sentence_draws: Floats
    """[resamples, systems], sentences resampled."""
    draws: Floats
    """[resamples, systems], sentences and seeds resampled."""

    def difference(self, first: int, second: int) -> Interval:
        """The first system minus the second."""
        with np.errstate(invalid="ignore"):  # infinite perplexities leave NaN, which decides nothing
            return self._interval(
                self.values[first] - self.values[second],
                self.draws[:, first] - self.draws[:, second],
                self.sentence_draws[:, first] - self.sentence_draws[:, second],
                sides=2,
            )

    def interval(self, system: int) -> Interval:
        """One system."""
        return self._interval(self.values[system], self.draws[:, system], self.sentence_draws[:, system], sides=1)

    def _interval(self, estimate: float, draws: Floats, sentence_draws: Floats, *, sides: int) -> Interval:
        with np.errstate(invalid="ignore"):
            variance = float(np.var(sentence_draws))
            low, high = quantiles(draws)
        seeds = None if self.seed_deviation is None else sides * self.seed_deviation**2
        return Interval(float(estimate), low, high, variance, seeds)


@dataclass(frozen=True)
class Bootstrap:
    """Both metrics of the same systems, over the same draws of sentences."""

    ppl: Resampled
    bleu: Resampled


def bootstrap(systems: Sequence[Sequence[Floats]], *, resamples: int, seed: int) -> Bootstrap:
    """Score systems on resampled sentences.

    Args:
        systems: for each system, for each of its seeds, the `sentence_columns` of the same split.
        resamples: number of draws.
        seed: of the draws.
    """
    sentences = len(systems[0][0])
    runs = [run for system in systems for run in system]
    assert all(run.shape == (sentences, COLUMNS) for run in runs), "the sentences are not the same"
    generator = np.random.default_rng(seed)
    # How often each draw takes each sentence, [resamples, sentences]; row 0 of the weights is the split itself.
    counts = generator.multinomial(sentences, np.full(sentences, 1 / sentences), size=resamples).astype(np.float64)
    weights = np.concatenate([np.ones((1, sentences)), counts])
    sums = (weights @ np.concatenate(runs, axis=1)).reshape(1 + resamples, len(runs), COLUMNS)
    seeds = [len(system) for system in systems]
    return Bootstrap(
        ppl=_resampled(perplexities(sums), seeds, generator),
        bleu=_resampled(bleu_scores(sums), seeds, generator),
    )


def _resampled(scores: Floats, seeds: Sequence[int], generator: np.random.Generator) -> Resampled:
    """One metric from its scores, [1 + resamples, runs], the first row those of all sentences."""
    systems = np.split(scores, np.cumsum(seeds)[:-1], axis=1)
    means = np.stack([system.mean(axis=1) for system in systems], axis=1)
    with np.errstate(invalid="ignore"):
        deviations = np.array([np.std(s[0], ddof=1) if s.shape[1] > 1 else math.nan for s in systems])
    known = np.isfinite(deviations)
    freedom = int((np.array(seeds) - 1)[known].sum())
    draws = means[1:]
    deviation = None
    if freedom:
        variance = float((deviations**2 * (np.array(seeds) - 1))[known].sum() / freedom)
        deviation = math.sqrt(variance)
        drawn = np.sqrt(variance * freedom / generator.chisquare(freedom, size=(len(draws), 1)))
        draws = draws + drawn * generator.standard_normal(draws.shape) / np.sqrt(seeds)
    return Resampled(means[0], deviations, deviation, means[1:], draws)


def seeds_to_decide(interval: Interval, distance: float) -> int | None:
    """Seeds of each side for which a difference's interval would be narrower than a distance on either side.

    The half-width with k seeds is taken to be 1.96 sqrt(sentence_variance + seed_variance / k).

    Args:
        interval: of a difference.
        distance: from the estimate to the value that the interval has to exclude.

    Returns:
        At least 1; None if the variance of sentences alone is too large, or that of seeds is not known.
    """
    room = (abs(distance) / NORMAL_QUANTILE) ** 2 - interval.sentence_variance
    if interval.seed_variance is None or not room > 0:
        return None
    needed = interval.seed_variance / room
    return max(1, math.floor(needed) + 1) if math.isfinite(needed) else None


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rank correlation of [n] and [n]; ties have their mean rank; NaN if one side does not vary."""
    ranks = _ranks(np.asarray(first, dtype=np.float64)), _ranks(np.asarray(second, dtype=np.float64))
    a, b = (rank - rank.mean() for rank in ranks)
    norm = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / norm if norm > 0 else math.nan


def _ranks(values: Floats) -> Floats:
    """The mean rank of each value, from 1."""
    below = (values[:, None] > values[None, :]).sum(axis=1)
    equal = (values[:, None] == values[None, :]).sum(axis=1)
    ranks: Floats = below + (equal + 1) / 2
    return ranks


def rank_correlation(column: Sequence[float], measured: Resampled) -> Estimate:
    """Rank correlation of measured systems with a column of other numbers, [systems]."""
    over_draws = [spearman(column, draw) for draw in measured.draws]
    return Estimate(spearman(column, measured.values), *quantiles(over_draws))
