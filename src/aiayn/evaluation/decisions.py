"""Which hypotheses about differences the measurements support or contradict, and the power to do so.

A hypothesis is supported by a one-sided test of level 2.5%, that is, where the 95% interval of the difference lies on
the claimed side; a hypothesis of likeness by two one-sided tests of 5% against its margin (Schuirmann 1987). A claim is
supported where all of its hypotheses are: such a conjunction needs no correction (Berger 1982). Contradictions are
corrected over all hypotheses of a table (Holm 1979), since one of them is enough against a claim.

All functions take arrays with leading axes, so that simulated tables are decided by the rule that decides real ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from aiayn.evaluation.significance import Floats, difference_errors

LEVEL = 0.025
"""Level of a one-sided test; two of them make the 95% interval."""

EQUIVALENCE_LEVEL = 0.05
"""Level of each of the two one-sided tests of likeness."""

TARGET_POWER = 0.8

MOST_SEEDS = 256
"""The largest number of seeds that is searched for."""

DRAWS = 2000
"""Simulated tables: the standard error of a power of 80% is 0.9%."""

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Hypothesis:
    """A claimed difference of two systems, the first minus the second."""

    first: int
    """Index of the system."""
    second: int
    sign: int
    """Claimed sign of the difference, +1 or -1; 0: the two are alike."""
    margin: float = 0.0
    """The difference that still counts as alike; only for sign 0."""
    effect: float = 0.0
    """The difference that is assumed where power is computed."""
    measure: int = 0
    """Index of the measure, such as log PPL or BLEU, whose variances apply to it."""


@dataclass(frozen=True)
class Decisions:
    """The outcomes of tests, [..., hypotheses]."""

    p_supported: Floats
    """P-values that are small where the difference is as claimed."""
    p_contradicted: Floats
    """P-values that are small where the difference is on the other side, or beyond the margin; uncorrected."""
    supported: Booleans
    contradicted: Booleans
    """Hypotheses that are contradicted after Holm's correction over all."""


def decide(hypotheses: Sequence[Hypothesis], differences: Floats, errors: Floats, freedoms: Floats) -> Decisions:
    """Test hypotheses, each [..., hypotheses] of differences, standard errors and degrees of freedom.

    A hypothesis without a known error (NaN) is neither supported nor contradicted; it counts in the correction.
    """
    signs, margins = (np.array([getattr(each, name) for each in hypotheses]) for name in ("sign", "margin"))
    is_likeness = signs == 0
    distance = np.where(is_likeness, margins - np.abs(differences), signs * differences)
    # The test against the nearer margin has the larger p-value of the two and decides.
    p_supported = _tail_probability(distance, errors, freedoms)
    p_contradicted = _tail_probability(-distance, errors, freedoms)
    return Decisions(
        p_supported,
        p_contradicted,
        supported=p_supported <= np.where(is_likeness, EQUIVALENCE_LEVEL, LEVEL),
        contradicted=holm(p_contradicted, LEVEL),
    )


def _tail_probability(values: Floats, errors: Floats, freedoms: Floats) -> Floats:
    """The one-sided p-values of values above 0, elementwise: P(T >= value / error); 1 where the error is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(freedoms, -values / errors)
    return np.where(np.isnan(p), 1.0, p)


def holm(p_values: Floats, level: float) -> Booleans:
    """The hypotheses rejected at a level for all together, [..., hypotheses]."""
    count = p_values.shape[-1]
    order = np.argsort(p_values, axis=-1)
    passes = np.take_along_axis(p_values, order, axis=-1) <= level / np.arange(count, 0, -1)
    rejected = np.logical_and.accumulate(passes, axis=-1)  # the first that fails ends the procedure
    result = np.zeros_like(rejected)
    np.put_along_axis(result, order, rejected, axis=-1)
    return result


@dataclass(frozen=True)
class Noise:
    """The variances of one measure."""

    seeds: float
    """Variance of single runs around their system's mean."""
    sentences: float
    """Variance of the difference of two systems by the sentences, beyond that of their seeds."""


@dataclass(frozen=True)
class Design:
    """A plan: hypotheses, the claims that consist of them, and the seeds of each system."""

    hypotheses: Sequence[Hypothesis]
    claims: Sequence[Sequence[int]]
    """The hypotheses of each claim, by index."""
    seeds: Sequence[int]
    """Number of seeds of each system."""

    def power(self, noises: Sequence[Noise], *, draws: int = DRAWS) -> Floats:
        """The probability that each claim is supported if the assumed effects are true, [claims], by simulation.

        Args:
            noises: the variances of each measure.
            draws: number of simulated tables.
        """
        decided = self.simulate(noises, np.random.default_rng(0), draws)
        return np.array([decided.supported[:, list(claim)].all(axis=-1).mean() for claim in self.claims])

    def simulate(self, noises: Sequence[Noise], generator: np.random.Generator, draws: int) -> Decisions:
        """The decisions in simulated tables, [draws, hypotheses].

        Each system has a normal deviation of its own, so that hypotheses that share one are correlated; the variance
        between seeds is estimated anew in every draw, and unknown where no system has two seeds.
        """
        counts = np.array(self.seeds)
        first, second, measure = (
            np.array([getattr(each, name) for each in self.hypotheses]) for name in ("first", "second", "measure")
        )
        effects = np.array([each.effect for each in self.hypotheses])
        differences, errors, freedoms = (np.full((draws, len(effects)), np.nan) for _ in range(3))
        for number, noise in enumerate(noises):
            of_measure = np.nonzero(measure == number)[0]
            spread = np.sqrt(noise.seeds / counts + noise.sentences / 2)
            systems = spread * generator.standard_normal((draws, len(counts)))
            estimated = noise.seeds * generator.chisquare(np.maximum(counts - 1, 1), (draws, len(counts)))
            variances = estimated / np.maximum(counts - 1, 1)
            one, other = first[of_measure], second[of_measure]
            differences[:, of_measure] = effects[of_measure] + systems[:, one] - systems[:, other]
            if counts.max() > 1:
                sentences = np.full((draws, len(of_measure)), noise.sentences)
                errors[:, of_measure], freedoms[:, of_measure] = difference_errors(
                    variances, counts, one, other, sentences
                )
        return decide(self.hypotheses, differences, errors, freedoms)

    def seeds_needed(self, noises: Sequence[Noise], factors: Sequence[float]) -> int | None:
        """The fewest seeds at which all claims have a power of 80%; None if `MOST_SEEDS` are too few.

        Args:
            noises: the variances of each measure.
            factors: the seeds of each system, as a multiple of the returned number.
        """

        def has_power(count: int) -> bool:
            seeds = [max(1, round(count * factor)) for factor in factors]
            return bool((replace(self, seeds=seeds).power(noises) >= TARGET_POWER).all())

        low, high = 1, 2
        while not has_power(high):
            low, high = high, 2 * high
            if high > MOST_SEEDS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if has_power(middle) else (middle, high)
        return high
