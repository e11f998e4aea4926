"""The paper's conclusions from Table 3, read from claims.yaml into frozen types."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

import yaml


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
    """Training goes far beyond the warm-up: a difference is not that of how fast models begin to learn."""
    many_epochs = "many_epochs"
    """The training data are read often enough for a model to over-fit."""


@dataclass(frozen=True)
class Claim:
    """A conclusion of the paper; it holds where every comparison does."""

    id: str
    section: str
    """Of the paper, where it is drawn."""
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
    return parse_claims(resources.files(__package__).joinpath("claims.yaml").read_text(encoding="utf-8"))


def parse_claims(text: str) -> tuple[Claim, ...]:
    """Read YAML of claims.yaml's shape."""
    return tuple(
        Claim(
            **{
                **entry,
                "comparisons": tuple(map(_comparison, entry["comparisons"])),
                "needs": frozenset(map(Need, entry.get("needs", ()))),
            }
        )
        for entry in yaml.safe_load(text)
    )


def _comparison(entry: Mapping[str, Any]) -> Comparison:
    metric = Metric(entry["metric"])
    if "within" in entry:
        first, second = entry["rows"]
        return Sameness(metric, (first, second), entry["within"])
    return Ordering(**{**entry, "metric": metric})
