"""Claims on rows: types, and the paper's conclusions from Table 3, which are read from claims.yaml."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, TypeAlias

from aiayn.paper.cells import read_yaml
from aiayn.paper.tables import load_table3


class Metric(StrEnum):
    """A column of results."""

    ppl = "ppl"
    bleu = "bleu"

    @property
    def sign(self) -> int:
        """+1 where more is better, -1 where less is."""
        return 1 if self is Metric.bleu else -1

    @property
    def compared(self) -> str:
        """Name of the values that are subtracted."""
        return "BLEU" if self is Metric.bleu else "log PPL"

    def difference(self, first: float, second: float) -> float:
        """The first score minus the second; for perplexities, the difference of logarithms."""
        return first - second if self is Metric.bleu else math.log(first / second)


@dataclass(frozen=True)
class Comparison:
    """A claim on two rows: that the first scores better, or that both score alike."""

    metric: Metric
    first: str
    """The row that is claimed to be better, or one of two alike."""
    second: str
    within: float | None
    """The largest difference that counts as alike, of log PPL or BLEU; None: the first is claimed to be better."""
    effect: float
    """The first row minus the second, as assumed for power; for the paper's claims, of its printed cells."""

    @property
    def rows(self) -> tuple[str, str]:
        """The first row and the second."""
        return self.first, self.second

    @property
    def sign(self) -> int:
        """Sign of the claimed difference, first minus second; 0: alike."""
        return 0 if self.within is not None else self.metric.sign


@dataclass(frozen=True)
class Converged:
    """The gate of claims on trained models: perplexity on dev is nearly constant over the last steps."""

    largest_fall: float
    """PPL must fall by less than this share over the last steps, and rise by less except in an over-fitting row."""
    last_share: float
    """The last steps as a share of all."""


@dataclass(frozen=True)
class OverFitting:
    """The gate of claims on over-fitting: the budget suffices for it."""

    row: str
    """The row that over-fits."""
    minimum_before: float
    """The share of the steps before which its perplexity on dev must have its minimum."""
    smallest_rise: float
    """The share by which its perplexity must at least rise from there to the end."""


Gate: TypeAlias = Converged | OverFitting


@dataclass(frozen=True)
class Claim:
    """A conclusion; it holds where every primary comparison does."""

    id: str
    statement: str
    primary: tuple[Comparison, ...]
    secondary: tuple[Comparison, ...] = ()
    """Comparisons that are tested and shown, and do not affect the verdict."""
    gates: Mapping[str, Gate] = field(default_factory=dict)
    """Conditions without which runs cannot test it, by name."""
    section: str = ""
    """Section of the paper."""
    group: str = ""
    """Group of its rows in Table 3."""
    about: str = ""
    """Its subject, in a word or two."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows that its primary comparisons compare, each once."""
        return tuple(dict.fromkeys(row for comparison in self.primary for row in comparison.rows))


@cache
def load_claims() -> tuple[Claim, ...]:
    """The paper's conclusions from Table 3."""
    content = read_yaml("claims.yaml")
    gates = {name: read_gate(entry) for name, entry in content["gates"].items()}
    return tuple(read_claim(entry, gates, _printed_effect) for entry in content["claims"])


def read_gate(entry: Mapping[str, Any]) -> Gate:
    """A gate from its values; TypeError if no gate has these keys."""
    return OverFitting(**entry) if "row" in entry else Converged(**entry)


def read_claim(
    entry: Mapping[str, Any], gates: Mapping[str, Gate], effect: Callable[[Metric, str, str], float]
) -> Claim:
    """A claim from its values.

    Args:
        entry: as in claims.yaml.
        gates: the gates that it may name.
        effect: the assumed difference of a metric between two rows, for comparisons that do not state theirs.

    Raises:
        KeyError: it names an unknown gate or metric, or states no rows.
        TypeError: it has other keys.
    """

    def comparisons(entries: Sequence[Mapping[str, Any]], metric: Metric) -> tuple[Comparison, ...]:
        return tuple(_comparison(each, metric, effect) for each in entries)

    own = {
        "primary": comparisons(entry["primary"], Metric.ppl),
        "secondary": comparisons(entry.get("secondary", ()), Metric.bleu),
        "gates": {name: gates[name] for name in entry.get("gates", ())},
    }
    return Claim(**{**entry, **own})


def _comparison(entry: Mapping[str, Any], metric: Metric, effect: Callable[[Metric, str, str], float]) -> Comparison:
    metric = Metric[entry["metric"]] if "metric" in entry else metric
    if "alike" in entry:
        first, second = entry["alike"]
        return Comparison(metric, first, second, float(entry["within"]), 0.0)
    first, second = entry["better"], entry["worse"]
    stated = entry.get("effect")
    assumed = effect(metric, first, second) if stated is None else metric.sign * float(stated)
    return Comparison(metric, first, second, None, assumed)


def _printed_effect(metric: Metric, first: str, second: str) -> float:
    """The first row minus the second, as the paper prints them."""
    return metric.difference(*(load_table3().row(row).cell(metric).number for row in (first, second)))
