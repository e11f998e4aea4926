"""Verdicts on the paper's claims, and the rules by which several make one."""

from collections.abc import Sequence
from enum import StrEnum


class Verdict(StrEnum):
    """The outcome of a claim."""

    reproduced = "reproduced"
    """Every interval lies on the claimed side."""
    contradicted = "contradicted"
    """Some interval lies on the other side."""
    undecided = "undecided"
    pending = "pending"
    """A row that it needs has no finished run, and nothing contradicts it yet."""
    incomparable = "not comparable"
    """It is about printed numbers, and these runs are of another scale or of other data."""


def verdict_of_side(*, holds: bool, fails: bool) -> Verdict:
    """Of an interval that lies wholly on the claimed side, wholly on the other, or on both."""
    return Verdict.reproduced if holds else Verdict.contradicted if fails else Verdict.undecided


def all_hold(verdicts: Sequence[Verdict]) -> Verdict:
    """Reproduced only if all are; one that is contradicted is enough against the claim."""
    for verdict in (Verdict.contradicted, Verdict.pending, Verdict.incomparable, Verdict.undecided):
        if verdict in verdicts:
            return verdict
    return Verdict.reproduced
