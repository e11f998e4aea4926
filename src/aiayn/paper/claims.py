"""The paper's conclusions from Table 3, read from claims.yaml into frozen types."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeAlias

from aiayn.paper.cells import read_yaml


class Metric(StrEnum):
    """A column of results."""

    ppl = "ppl"
    bleu = "bleu"

    @property
    def sign(self) -> int:
        """+1 where more is better, -1 where less is."""
        return 1 if self is Metric.bleu else -1


@dataclass(frozen=True)
class Ordering:
    """One row scores better than another."""

    metric: Metric
    better: str
    worse: str
    printed: str
    """By how much in the paper, positive, as its cells print it."""

    @property
    def rows(self) -> tuple[str, str]:
        """The better row and the worse one."""
        return self.better, self.worse


@dataclass(frozen=True)
class Sameness:
    """Two rows score nearly alike."""

    metric: Metric
    rows: tuple[str, str]
    within: str
    """The largest difference that still counts as alike."""


Comparison: TypeAlias = Ordering | Sameness


class Need(StrEnum):
    """A condition without which runs are no evidence for or against a claim."""

    converged = "converged"
    """Training goes far beyond the warm-up, so that a difference is not in how early models begin to learn."""
    many_epochs = "many_epochs"
    """The training data are read often enough for a model to over-fit."""


@dataclass(frozen=True)
class Claim:
    """A conclusion of the paper; it holds where every comparison does."""

    id: str
    section: str
    group: str
    """Of the rows that it is about."""
    about: str
    """Its subject, in a word or two."""
    statement: str
    comparisons: tuple[Comparison, ...]
    needs: frozenset[Need] = frozenset()

    @property
    def rows(self) -> frozenset[str]:
        """The rows that it compares."""
        return frozenset(row for comparison in self.comparisons for row in comparison.rows)


@cache
def load_claims() -> tuple[Claim, ...]:
    """The paper's conclusions from Table 3."""
    return tuple(map(_claim, read_yaml("claims.yaml")))


def _claim(entry: Mapping[str, Any]) -> Claim:
    comparisons = tuple(map(_comparison, entry["comparisons"]))
    return Claim(**{**entry, "comparisons": comparisons, "needs": frozenset(map(Need, entry.get("needs", ())))})


def _comparison(entry: Mapping[str, Any]) -> Comparison:
    kind = Sameness if "within" in entry else Ordering
    return kind(**{**entry, "metric": Metric(entry["metric"])})
