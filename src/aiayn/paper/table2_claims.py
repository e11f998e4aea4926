"""The paper's conclusions from Table 2 (section 6.1), read from table2_claims.yaml into frozen types."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from aiayn.paper.cells import Cell, parse_yaml, read_yaml
from aiayn.paper.table2 import System, load_table2


@dataclass(frozen=True)
class Above:
    """One of ours scores better than another of ours."""

    above: str
    below: str
    pair: str
    """en_de or en_fr, a column of the table."""

    @property
    def rows(self) -> tuple[str, str]:
        """The better row and the worse one."""
        return self.above, self.below


@dataclass(frozen=True)
class Beats:
    """A row's BLEU exceeds that of all published systems of some groups."""

    row: str
    pair: str
    beats: tuple[str, ...]
    by: str
    """Margin in points."""

    @property
    def baseline(self) -> System:
        """The best of these systems."""
        return _best(published(self.beats, self.pair), self.pair)

    @property
    def mark(self) -> float:
        """The score to exceed."""
        return number(getattr(self.baseline, self.pair)) + float(self.by)


@dataclass(frozen=True)
class Cheaper:
    """A row's training costs less than a share of what a published system's did."""

    row: str
    pair: str
    cheaper_than: tuple[str, ...]
    which: str
    """Of these groups: the cheapest, or the best."""
    share: str

    @property
    def baseline(self) -> System:
        """The system whose cost is meant."""
        systems = [
            each
            for each in published(self.cheaper_than, self.pair)
            if getattr(each, f"flops_{self.pair}").value is not None
        ]
        if self.which == "best":
            return _best(systems, self.pair)
        return min(systems, key=lambda each: number(getattr(each, f"flops_{self.pair}")))

    @property
    def mark(self) -> float:
        """FLOPs that it has to stay below."""
        return number(getattr(self.baseline, f"flops_{self.pair}")) * float(self.share)


Conclusion: TypeAlias = Above | Beats | Cheaper


@dataclass(frozen=True)
class Table2Claim:
    """A conclusion of section 6.1; it holds where every comparison does."""

    id: str
    statement: str
    comparisons: tuple[Conclusion, ...]


@cache
def load_table2_claims() -> tuple[Table2Claim, ...]:
    """The paper's conclusions from Table 2."""
    return tuple(
        Table2Claim(**{**entry, "comparisons": tuple(map(_comparison, entry["comparisons"]))})
        for entry in parse_yaml(read_yaml("table2_claims.yaml"))
    )


def _comparison(entry: Mapping[str, Any]) -> Conclusion:
    if "above" in entry:
        return Above(**entry)
    if "beats" in entry:
        return Beats(**{**entry, "beats": tuple(entry["beats"])})
    return Cheaper(**{**entry, "cheaper_than": tuple(entry["cheaper_than"])})


def published(groups: tuple[str, ...], pair: str) -> list[System]:
    """The systems of some groups that have a BLEU in a column."""
    return [each for each in load_table2().rows if each.group in groups and getattr(each, pair).value is not None]


def _best(systems: list[System], pair: str) -> System:
    return max(systems, key=lambda each: number(getattr(each, pair)))


def number(cell: Cell) -> float:
    """Of a cell that is known to hold one."""
    assert isinstance(cell.value, int | float), "the cell is blank"
    return float(cell.value)
