"""Verdicts on claims, and the rule by which the tests of several comparisons make one."""

from collections.abc import Sequence
from enum import StrEnum

UNDER_POWERED = 0.5
"""The power below which an open claim is called under-powered; it was known before the runs."""

POWER_CONFIDENCE = 0.8
"""One-sided confidence of the upper bound of the variance between seeds, with which power is computed."""

CUT = 0.75
"""The share of a published difference that power assumes: the largest ones of a table are large by chance too."""


class Verdict(StrEnum):
    """The outcome of a claim, or of one of its comparisons."""

    reproduced = "reproduced"
    """Every comparison is significantly as claimed."""
    contradicted = "contradicted"
    """Some comparison is significantly opposite, after correction over the table."""
    not_monotone = "not monotone"
    """A slope is not opposite, but a step of it is significantly so."""
    under_powered = "under-powered"
    """Not decided, and the power for the assumed effects is below `UNDER_POWERED`."""
    undecided = "undecided"
    """Not decided, and the power is larger or unknown; no power is computed for single comparisons."""
    not_tested = "not tested"
    """Runs are missing, a row did not learn, or a claim that it rests on is not reproduced."""


DECIDED = (Verdict.reproduced, Verdict.contradicted)
"""Verdicts of significant differences."""


def verdict_of_test(is_supported: bool, is_contradicted: bool) -> Verdict:
    """The verdict of one comparison, contradicted after correction."""
    return Verdict.contradicted if is_contradicted else Verdict.reproduced if is_supported else Verdict.undecided


def verdict_of(comparisons: Sequence[Verdict], *, is_monotone: bool = True, power: float | None = None) -> Verdict:
    """The verdict of a claim.

    Args:
        comparisons: the verdicts of its comparisons.
        is_monotone: False where a step of a slope is significantly opposite.
        power: the power of the claim for the assumed effects; None if unknown.
    """
    for decisive in (Verdict.not_tested, Verdict.contradicted):
        if decisive in comparisons:
            return decisive
    if not is_monotone:
        return Verdict.not_monotone
    if set(comparisons) == {Verdict.reproduced}:
        return Verdict.reproduced
    return Verdict.under_powered if power is not None and power < UNDER_POWERED else Verdict.undecided
