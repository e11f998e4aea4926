"""Differences between trained systems, with the variance between seeds and between sentences estimated apart.

Systems are scored on the same sentences, and a system's score is the mean over its seeds. A contrast is a weighted sum
of systems, such as one minus another, or a slope over several. The variance between seeds is estimated from the seeds
of all systems together (pooled), or from those of each system alone (Welch, for five seeds a system or more). The
variance between sentences is estimated by linear approximation (the delta method): each sentence's influence is its
contribution to the change of a score. Contrasts are taken sentence by sentence, so that the difficulty of sentences
cancels. Seeds that are compared on a finite set of sentences also differ by these sentences: this share of the
variance between seeds is estimated and not counted twice.

Differences of perplexities are differences of their logarithms, because ratios compare good and weak models alike, and
because the logarithms of all systems vary alike between seeds.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtri, stdtrit

from aiayn.evaluation.bleu import MAX_ORDER, STATISTICS
from aiayn.evaluation.sentences import SentenceScores
from aiayn.system.documents import NullIsInfinity

Floats = NDArray[np.float64]

ScoreOfSums: TypeAlias = Callable[[Floats], Floats]
"""From summed columns, [..., columns], to scores, [...]."""

COLUMNS = 2 + STATISTICS
"""Of a sentence: NLL, tokens, and one row of `aiayn.evaluation.bleu.sentence_statistics`."""

CONFIDENCE = 0.95


def quantiles(draws: ArrayLike) -> tuple[float, float]:
    """The ends of the 95% interval over draws."""
    low, high = np.quantile(np.asarray(draws), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def sentence_columns(rows: Sequence[SentenceScores]) -> Floats:
    """The scores of one run's sentences as float64 [sentences, COLUMNS]; the columns add up."""
    return np.array([(row.nll, row.tokens, *row.bleu_statistics) for row in rows], dtype=np.float64)


def log_perplexities(sums: Floats) -> Floats:
    """NLL / tokens of summed columns, [..., COLUMNS] to [...]."""
    return sums[..., 0] / sums[..., 1]


def perplexities(sums: Floats) -> Floats:
    """exp(NLL / tokens) of summed columns, [..., COLUMNS] to [...]; inf where it exceeds a float."""
    with np.errstate(over="ignore"):
        return np.exp(log_perplexities(sums))


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


def log_perplexity_influences(columns: Floats) -> Floats:
    """Each sentence's contribution to the change of log PPL, [sentences, COLUMNS] to [sentences]; the sum is 0."""
    nll, tokens = columns[:, 0], columns[:, 1]
    result: Floats = (nll - tokens * nll.sum() / tokens.sum()) / tokens.sum()
    return result


def bleu_influences(columns: Floats) -> Floats:
    """Each sentence's contribution to the change of BLEU, [sentences, COLUMNS] to [sentences].

    It is BLEU's gradient by the summed columns, times the sentence's columns.
    """
    sums = columns.sum(axis=0)
    hypothesis, reference = sums[2], sums[3]
    matches, totals = sums[4 : 4 + MAX_ORDER], sums[4 + MAX_ORDER :]
    gradient = np.zeros(COLUMNS)
    gradient[4 : 4 + MAX_ORDER] = np.where(matches > 0, 1 / np.maximum(matches, 1) / MAX_ORDER, 0.0)
    gradient[4 + MAX_ORDER :] = -1 / np.maximum(totals, 1) / MAX_ORDER
    if reference > hypothesis > 0:
        gradient[2], gradient[3] = reference / hypothesis**2, -1 / hypothesis
    return bleu_scores(sums) * (columns @ gradient)


@dataclass(frozen=True)
class EffectContent:
    """A difference of two systems or a score of one, with its interval."""

    estimate: Annotated[float, NullIsInfinity]
    """The difference or the score; perplexities are compared by their logarithms."""
    low: float | None
    """The lower end of the interval; None if no interval is known."""
    high: float | None
    """The upper end of the interval; None if no interval is known."""
    confidence: float
    """The confidence of the interval."""
    standard_error: float | None
    """The standard error; None if it is unknown."""


@dataclass(frozen=True)
class Effect:
    """A difference of two systems or a score of one, with its standard error."""

    estimate: float
    error: float | None
    """None where no system has two seeds: the variation between seeds is unknown."""
    freedom: float
    """Degrees of freedom of the variance between seeds, on which the error rests."""
    confidence: float = CONFIDENCE
    """Of the interval from `low` to `high`."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.error is None else self.estimate - self._half_width(self.error)

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.error is None else self.estimate + self._half_width(self.error)

    def _half_width(self, error: float) -> float:
        return float(stdtrit(self.freedom, (1 + self.confidence) / 2)) * error

    @property
    def content(self) -> EffectContent:
        """The effect in a document for programs."""
        return EffectContent(self.estimate, self.low, self.high, self.confidence, self.error)


@dataclass(frozen=True)
class SeedNoise:
    """The variance between seeds, from all systems together."""

    variance: float
    """Variance of single runs around their system's mean, on these sentences."""
    sentence_share: float
    """The part of `variance` that is due to the choice of sentences."""
    freedom: int
    """Number of seeds minus number of systems."""
    smallest: float
    """The standard deviation of the system whose seeds vary least, of those with two seeds."""
    largest: float
    """The standard deviation of the system whose seeds vary most."""

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    def upper_variance(self, confidence: float) -> float:
        """The upper bound of the variance at a one-sided confidence, as in 0.8 (chi-square)."""
        return float(self.variance * self.freedom / chdtri(self.freedom, confidence))


@dataclass(frozen=True)
class Measured:
    """One metric of several systems."""

    values: Floats
    """[systems], the mean over seeds: of PPL or BLEU."""
    deviations: Floats
    """[systems], the standard deviation over seeds of the same; NaN for one seed."""
    compared: Floats
    """[systems], the mean over seeds of the values that are subtracted: log PPL, or BLEU."""
    influences: Floats
    """[systems, sentences], means over seeds; see `log_perplexity_influences`."""
    seeds: Sequence[int]
    """Number of seeds of each system."""
    variances: Floats
    """[systems], the variance between seeds of log PPL or BLEU; NaN for one seed and without finite scores."""
    noise: SeedNoise | None
    """The variance between seeds from all systems together; None if no system has two seeds."""

    def difference(self, first: int, second: int) -> Effect:
        """The first system minus the second, with the variance between seeds from all systems together."""
        return self.contrast({first: 1.0, second: -1.0})

    def contrast(self, weights: Mapping[int, float], *, pooled: bool = True) -> Effect:
        """The weighted sum of some systems.

        Args:
            weights: of each system, by its index.
            pooled: whether the variance between seeds is that of all systems together; else that of each system alone.
        """
        systems, seeds = [*weights], np.array(self.seeds)
        estimate = float(np.array([*weights.values()]) @ self.compared[systems])
        if self.noise is None or not (pooled or (seeds[systems] > 1).all()):
            return Effect(estimate, None, math.inf)
        dense = np.array([[weights.get(system, 0.0) for system in range(len(seeds))]])
        sentences = np.array([self.sentence_variance(weights)])
        errors, freedoms = contrast_errors(self.variances, seeds, dense, sentences, pooled=pooled)
        return Effect(estimate, float(errors[0]), float(freedoms[0]))

    def score(self, system: int) -> Effect:
        """One system."""
        estimate = float(self.compared[system])
        if self.noise is None:
            return Effect(estimate, None, math.inf)
        variance = 1 / self.seeds[system] * self.noise.variance + self.sentence_variance({system: 1.0})
        return Effect(estimate, math.sqrt(variance), self.noise.freedom)

    def sentence_variance(self, weights: Mapping[int, float]) -> float:
        """Variance of a contrast by the sentences, beyond their share of the variance between seeds."""
        share = sum(weight**2 / self.seeds[system] for system, weight in weights.items())
        influences = np.asarray(sum(weight * self.influences[system] for system, weight in weights.items()))
        beyond = sentence_variance(influences) - share * (0.0 if self.noise is None else self.noise.sentence_share)
        return 0.0 if beyond < 0 else beyond  # NaN stays: a system without a finite likelihood

    def with_compared(self, compared: Sequence[Floats]) -> "Measured":
        """With other values to subtract, those of each system's seeds; influences and their share of variance stay."""
        noise = _noise(compared, 0.0 if self.noise is None else self.noise.sentence_share)
        means = np.array([each.mean() for each in compared])
        return replace(self, compared=means, variances=_variances(compared), noise=noise)


def contrast_errors(
    variances: Floats, seeds: NDArray[np.int64], weights: Floats, sentences: Floats, *, pooled: bool
) -> tuple[Floats, Floats]:
    """The standard errors of contrasts of systems and their degrees of freedom, both [..., contrasts].

    The variance by the sentences is estimated from many and leaves the degrees of freedom unchanged; those of a sum of
    systems with variances of their own are Satterthwaite's.

    Args:
        variances: between the seeds of each system, [..., systems]; not used of systems with one seed, and of those
            without finite scores (NaN).
        seeds: number of seeds of each system, [systems]; at least one system has two.
        weights: [contrasts, systems].
        sentences: variance by the sentences, [..., contrasts].
        pooled: whether one variance is estimated from all systems; else the error of a contrast with a system that has
            one seed is NaN.
    """
    squares = weights**2 / seeds
    if pooled:
        is_known = np.isfinite(variances)
        freedoms = np.where(is_known, seeds - 1, 0)
        freedom = freedoms.sum(axis=-1, keepdims=True)
        mean = (np.where(is_known, variances, 0.0) * freedoms).sum(axis=-1, keepdims=True) / freedom
        by_seeds = mean * squares.sum(axis=-1)
        return np.sqrt(by_seeds + sentences), np.broadcast_to(freedom.astype(np.float64), by_seeds.shape)
    own = np.where(seeds > 1, variances, np.nan)[..., None, :]
    parts = np.where(weights != 0, squares * own, 0.0)
    by_seeds = parts.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        own_freedom = by_seeds**2 / (parts**2 / np.maximum(seeds - 1, 1)).sum(axis=-1)
    return np.sqrt(by_seeds + sentences), np.where(by_seeds == 0, np.inf, own_freedom)


def sentence_variance(influences: Floats) -> float:
    """Variance of a score by the choice of its sentences, from influences [sentences]."""
    count = len(influences)
    return float(count / max(1, count - 1) * (influences**2).sum())


@dataclass(frozen=True)
class Measurements:
    """Both metrics of the same systems."""

    ppl: Measured
    bleu: Measured


def measure(systems: Sequence[Sequence[Floats]]) -> Measurements:
    """Score systems on the same sentences.

    Args:
        systems: for each system, for each of its seeds, the `sentence_columns` of the same split.
    """
    shape = systems[0][0].shape
    assert all(run.shape == shape for system in systems for run in system), "the sentences are not the same"
    sums = [np.stack([run.sum(axis=0) for run in system]) for system in systems]

    def measured(score: ScoreOfSums, compare: ScoreOfSums, influence: Callable[[Floats], Floats]) -> Measured:
        scores, compared = ([of(each) for each in sums] for of in (score, compare))
        influences = [np.stack([influence(run) for run in system]) for system in systems]
        several = [n for n, each in enumerate(compared) if _vary(each)]
        residuals = (influences[n] - influences[n].mean(axis=0) for n in several)
        share = sum(sentence_variance(each) for of_system in residuals for each in of_system)
        return Measured(
            values=np.array([each.mean() for each in scores]),
            deviations=np.sqrt(_variances(scores)),
            compared=np.array([each.mean() for each in compared]),
            influences=np.stack([each.mean(axis=0) for each in influences]),
            seeds=[len(each) for each in scores],
            variances=_variances(compared),
            noise=_noise(compared, share / max(1, sum(len(compared[n]) - 1 for n in several))),
        )

    return Measurements(
        ppl=measured(perplexities, log_perplexities, log_perplexity_influences),
        bleu=measured(bleu_scores, bleu_scores, bleu_influences),
    )


def _vary(values: Floats) -> bool:
    """Whether the variance between seeds of these values is known: there are two, and they are finite."""
    return len(values) > 1 and bool(np.isfinite(values).all())


def _variances(values: Sequence[Floats]) -> Floats:
    """The variance between the seeds of each system, [systems]; NaN where it is unknown."""
    return np.array([np.var(each, ddof=1) if _vary(each) else math.nan for each in values])


def _noise(compared: Sequence[Floats], sentence_share: float) -> SeedNoise | None:
    """The variance from all systems that have one."""
    several = [each for each in compared if _vary(each)]
    freedom = sum(len(each) - 1 for each in several)
    if not freedom:
        return None
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in several)
    deviations = [float(np.std(each, ddof=1)) for each in several]
    return SeedNoise(squares / freedom, sentence_share, freedom, min(deviations), max(deviations))
