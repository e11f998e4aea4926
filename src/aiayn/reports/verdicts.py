"""Verdicts on claims, and the rule by which the tests of several comparisons make one."""

from collections.abc import Sequence
from enum import StrEnum

from aiayn.evaluation.decisions import TARGET_POWER


class Verdict(StrEnum):
    """The outcome of a claim, or of one of its comparisons."""

    reproduced = "reproduced"
    """Every comparison is significantly as claimed."""
    contradicted = "contradicted"
    """Some comparison is significantly opposite, or beyond the margin, after correction over the table."""
    under_powered = "under-powered"
    """Not decided, and runs like these would have missed an effect of the assumed size in more than 20% of cases."""
    undecided = "undecided"
    """Not decided; the power was sufficient, or is not known. Single comparisons have none."""
    not_tested = "not tested"
    """A gate failed, or runs are missing."""


def verdict_of(
    supported: Sequence[bool], contradicted: Sequence[bool], *, is_tested: bool, power: float | None
) -> Verdict:
    """The verdict of one comparison or of a claim with several.

    Args:
        supported: of each comparison, whether its test supports it.
        contradicted: likewise, after correction.
        is_tested: False where a gate failed or runs are missing.
        power: of the claim, for the assumed effects; None if it is not known.
    """
    if not is_tested:
        return Verdict.not_tested
    if any(contradicted):
        return Verdict.contradicted
    if all(supported):
        return Verdict.reproduced
    return Verdict.under_powered if power is not None and power < TARGET_POWER else Verdict.undecided
