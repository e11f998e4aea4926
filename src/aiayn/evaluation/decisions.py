"""Which hypotheses about contrasts of systems the measurements support or contradict, and the power to do so.

A hypothesis states the sign of a contrast. It is supported by a one-sided test of level 2.5%, that is, where the 95%
interval lies on the claimed side; the two contrasts of a claimed likeness are tested at 5% each (Schuirmann 1987). A
claim is supported where all of its hypotheses are: such a conjunction needs no correction (Berger 1982).
Contradictions are corrected over all hypotheses of a table (Holm 1979), since one of them is enough against a claim.
A slope is no trend where a step of it is significantly opposite.

All functions take arrays with leading axes, so that simulated tables are decided by the rule that decides real ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from aiayn.evaluation.significance import Floats, contrast_errors

LEVEL = 0.025
"""Level of a one-sided test; two of them make the 95% interval."""

EQUIVALENCE_LEVEL = 0.05
"""Level of each of the two one-sided tests of likeness."""

STEP_LEVEL = 0.05
"""Level at which a step of a slope is opposite, after correction over the steps of that slope (Holm)."""

DRAWS = 2000
"""Simulated tables: the standard error of a power of 80% is 0.9%."""

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Hypothesis:
    """A claimed sign of a contrast."""

    weights: Mapping[int, float]
    """Of systems, by index."""
    sign: int
    """Claimed sign of the contrast, +1 or -1."""
    level: float = LEVEL
    """Level of the one-sided test that supports it."""
    effect: float = 0.0
    """The contrast that is assumed where power is computed."""
    measure: int = 0
    """Index of the measure, such as log PPL or BLEU, whose variances apply to it."""


@dataclass(frozen=True)
class Decisions:
    """The outcomes of tests, [..., hypotheses]."""

    p_supported: Floats
    """P-values that are small where the contrast is as claimed."""
    p_contradicted: Floats
    """P-values that are small where the contrast is on the other side; uncorrected."""
    supported: Booleans
    contradicted: Booleans
    """Hypotheses that are contradicted after Holm's correction over all."""


def decide(hypotheses: Sequence[Hypothesis], estimates: Floats, errors: Floats, freedoms: Floats) -> Decisions:
    """Test hypotheses, each [..., hypotheses] of contrasts, standard errors and degrees of freedom.

    A hypothesis without a known error (NaN) is neither supported nor contradicted; it counts in the correction.
    """
    signs, levels = (np.array([getattr(each, name) for each in hypotheses]) for name in ("sign", "level"))
    p_supported = _tail_probability(signs * estimates, errors, freedoms)
    p_contradicted = _tail_probability(-signs * estimates, errors, freedoms)
    return Decisions(p_supported, p_contradicted, p_supported <= levels, holm(p_contradicted, LEVEL))


def _tail_probability(values: Floats, errors: Floats, freedoms: Floats) -> Floats:
    """The one-sided p-values of values above 0, elementwise: P(T >= value / error); 1 where the error is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(freedoms, -values / errors)
    return np.where(np.isnan(p), 1.0, p)


def lasting(hypotheses: Sequence[Hypothesis], found: Decisions, projected: Decisions) -> Booleans:
    """Whether projected contrasts exclude 0 on the side of the measured ones, at their level, [..., hypotheses]."""
    levels = np.array([each.level for each in hypotheses])
    return np.where(found.contradicted, projected.p_contradicted <= levels, projected.supported)


def opposite_steps(sign: int, estimates: Floats, errors: Floats, freedoms: Floats) -> Booleans:
    """The steps of one slope that are significantly opposite to its claimed sign, each array [..., steps]."""
    return holm(_tail_probability(-sign * estimates, errors, freedoms), STEP_LEVEL)


def holm(p_values: Floats, level: float) -> Booleans:
    """The hypotheses rejected at a level for all together, [..., hypotheses]."""
    count = p_values.shape[-1]
    order = np.argsort(p_values, axis=-1)
    passes = np.take_along_axis(p_values, order, axis=-1) <= level / np.arange(count, 0, -1)
    rejected = np.logical_and.accumulate(passes, axis=-1)  # the first that fails ends the procedure
    return np.take_along_axis(rejected, np.argsort(order, axis=-1), axis=-1)


@dataclass(frozen=True)
class Noise:
    """The variances of one measure."""

    seeds: float
    """Variance of single runs around their system's mean."""
    sentences: float
    """Variance of the difference of two systems by the sentences, beyond that of their seeds."""


@dataclass(frozen=True)
class Conjunction:
    """A claim: hypotheses that all have to be supported."""

    hypotheses: Sequence[Hypothesis]
    slopes: Sequence[Sequence[Hypothesis]] = ()
    """The steps of each slope; none may be significantly opposite."""
    requires: int | None = None
    """The claim of the same plan that has to hold too, by index."""


@dataclass(frozen=True)
class Design:
    """A plan: claims, and the seeds of each system."""

    claims: Sequence[Conjunction]
    seeds: Sequence[int]
    """Number of seeds of each system."""
    pooled: bool
    """Whether the variance between seeds is estimated from all systems together."""

    @property
    def groups(self) -> list[Sequence[Hypothesis]]:
        """The hypotheses of each claim, then the steps of each slope."""
        return [claim.hypotheses for claim in self.claims] + [each for claim in self.claims for each in claim.slopes]

    @property
    def hypotheses(self) -> list[Hypothesis]:
        """Those of all groups."""
        return [each for group in self.groups for each in group]

    @property
    def weights(self) -> Floats:
        """Of systems, [hypotheses, systems]."""
        return np.array([[each.weights.get(n, 0.0) for n in range(len(self.seeds))] for each in self.hypotheses])

    def power(self, noises: Sequence[Noise], *, draws: int = DRAWS) -> Floats:
        """The probability that each claim is supported if the assumed effects are true, [claims], by simulation.

        Each system has a normal deviation of its own, so that hypotheses that share one are correlated; the variances
        between seeds are estimated anew in every draw, and unknown where no system has two seeds.

        Args:
            noises: the variances of each measure.
            draws: number of simulated tables.
        """
        generator, counts, weights = np.random.default_rng(0), np.array(self.seeds), self.weights
        measure, effects = (
            np.array([getattr(each, name) for each in self.hypotheses]) for name in ("measure", "effect")
        )
        estimates, errors, freedoms = (np.full((draws, len(effects)), np.nan) for _ in range(3))
        for number, noise in enumerate(noises):
            of = np.nonzero(measure == number)[0]
            spread = np.sqrt(noise.seeds / counts + noise.sentences / 2)
            systems = spread * generator.standard_normal((draws, len(counts)))
            variances = noise.seeds * generator.chisquare(np.maximum(counts - 1, 1), (draws, len(counts)))
            variances /= np.maximum(counts - 1, 1)
            estimates[:, of] = effects[of] + systems @ weights[of].T
            if counts.max() > 1:
                sentences = np.broadcast_to(noise.sentences / 2 * (weights[of] ** 2).sum(axis=-1), (draws, len(of)))
                errors[:, of], freedoms[:, of] = contrast_errors(
                    variances, counts, weights[of], sentences, pooled=self.pooled
                )
        shares: Floats = self.reproduced(estimates, errors, freedoms).mean(axis=0)
        return shares

    def reproduced(self, estimates: Floats, errors: Floats, freedoms: Floats) -> Booleans:
        """The claims that hold, [..., claims], by contrasts, standard errors and degrees of freedom of hypotheses."""
        ends = np.cumsum([len(group) for group in self.groups])[:-1]
        columns = (np.split(each, ends, axis=-1) for each in (estimates, errors, freedoms))
        of_groups = zip(*columns, strict=True)
        holds = [decide(claim.hypotheses, *next(of_groups)).supported.all(axis=-1) for claim in self.claims]
        for number, claim in enumerate(self.claims):
            for steps in claim.slopes:
                holds[number] = holds[number] & ~opposite_steps(steps[0].sign, *next(of_groups)).any(axis=-1)
        required = [n if claim.requires is None else claim.requires for n, claim in enumerate(self.claims)]
        return np.stack([one & holds[other] for one, other in zip(holds, required, strict=True)], axis=-1)
