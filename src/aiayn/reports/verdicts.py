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
    """Not decided, and the power for the assumed effects is below 80%."""
    undecided = "undecided"
    """Not decided, and the power is sufficient or unknown; no power is computed for single comparisons."""
    not_tested = "not tested"
    """A gate failed, or runs are missing."""


OPEN = (Verdict.under_powered, Verdict.undecided)
"""Verdicts that more seeds may change."""


def verdict_of(
    supported: Sequence[bool], contradicted: Sequence[bool], *, is_tested: bool, power: float | None
) -> Verdict:
    """The verdict of one comparison or of a claim with several.

    Args:
        supported: whether the test of each comparison supports it.
        contradicted: whether the test of each comparison contradicts it, after correction.
        is_tested: False where a gate failed or runs are missing.
        power: the power of the claim for the assumed effects; None if unknown.
    """
    if not is_tested:
        return Verdict.not_tested
    if any(contradicted):
        return Verdict.contradicted
    if all(supported):
        return Verdict.reproduced
    return Verdict.under_powered if power is not None and power < TARGET_POWER else Verdict.undecided
