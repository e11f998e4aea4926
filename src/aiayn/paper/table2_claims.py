"""The paper's conclusions from Table 2 (section 6.1), read from table2_claims.yaml into frozen types."""

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from aiayn.paper.cells import read_yaml
from aiayn.paper.tables import PublishedSystem, load_table2


@dataclass(frozen=True)
class Above:
    """One of ours scores better than another of ours."""

    above: str
    below: str
    pair: str
    """en_de or en_fr, a column of the table."""


@dataclass(frozen=True)
class Beats:
    """A row's BLEU exceeds that of all published systems of some groups."""

    row: str
    pair: str
    beats: tuple[str, ...]
    by: str
    """Margin in points."""

    @property
    def baseline(self) -> PublishedSystem:
        """The best of these systems."""
        return _best(published(self.beats, self.pair), self.pair)

    @property
    def mark(self) -> float:
        """The score to exceed."""
        return self.baseline.cell(self.pair).number + float(self.by)


@dataclass(frozen=True)
class Cheaper:
    """A row's training costs less than a share of a published system's."""

    row: str
    pair: str
    cheaper_than: tuple[str, ...]
    which: str
    """Of these groups: the cheapest, or the best."""
    share: str

    @property
    def column(self) -> str:
        """The column of costs."""
        return f"flops_{self.pair}"

    @property
    def baseline(self) -> PublishedSystem:
        """The system whose cost is meant."""
        systems = [each for each in published(self.cheaper_than, self.pair) if each.cell(self.column).printed]
        if self.which == "best":
            return _best(systems, self.pair)
        return min(systems, key=lambda each: each.cell(self.column).number)

    @property
    def mark(self) -> float:
        """The FLOPs to stay below."""
        return self.baseline.cell(self.column).number * float(self.share)


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
        Table2Claim(**{**entry, "comparisons": tuple(_kind(each)(**each) for each in entry["comparisons"])})
        for entry in read_yaml("table2_claims.yaml")
    )


def _kind(entry: dict[str, object]) -> type[Conclusion]:
    return Above if "above" in entry else Beats if "beats" in entry else Cheaper


def published(groups: tuple[str, ...], pair: str) -> list[PublishedSystem]:
    """The systems of some groups that have a BLEU in a column."""
    return [each for each in load_table2().rows if each.group in groups and each.cell(pair).printed]


def _best(systems: list[PublishedSystem], pair: str) -> PublishedSystem:
    return max(systems, key=lambda each: each.cell(pair).number)
