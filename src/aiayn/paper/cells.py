"""Columns and printed cells, which the four tables share, read from YAML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml

from aiayn.paper.order import Order, parse_order


@dataclass(frozen=True)
class Cell:
    """A printed cell: a number, an order of growth, or blank."""

    value: float | None
    """The number; None for an order of growth and for a blank cell."""
    decimals: int
    """Digits printed after the point; of the mantissa, if scientific."""
    unit: str
    id: str = ""
    """`<table>.<row>.<column>`."""
    source: str = ""
    """The version of the paper that prints it."""
    scientific: bool = False
    """Whether it is printed as a mantissa and a power of ten."""
    order: Order | None = None
    note: str | None = None
    """A known oddity of the cell."""
    elsewhere: tuple["Cell", ...] = ()
    """The same cell where other versions print something else; each names its source."""

    @property
    def printed(self) -> bool:
        """Whether the paper prints anything here."""
        return self.value is not None or self.order is not None

    def __str__(self) -> str:
        if self.order is not None:
            return str(self.order)
        if self.value is None:
            return ""
        if self.scientific:
            return f"{self.value:.{self.decimals}e}".replace("e+", "e")
        return f"{self.value:.{self.decimals}f}"


@dataclass(frozen=True)
class Column:
    """One column of results."""

    id: str
    heading: str
    unit: str
    decimals: int | None = None
    """Digits that every number of the column has after the point; None: they differ."""
    note: str | None = None


@dataclass(frozen=True)
class Caption:
    """The caption of a table."""

    title: str
    source: str
    """The version of the paper that the cells were read from."""


@dataclass(frozen=True, kw_only=True)
class PaperRow:
    """A line of any table; its cells are fields named as the columns are."""

    id: str
    label: str
    group: str = ""
    """The group of rows, in the paper's words or by its rules."""
    note: str | None = None
    """A known oddity of the row."""


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """Any of the four tables, in the paper's order."""

    caption: Caption
    columns: tuple[Column, ...]
    rows: Sequence[PaperRow]

    def cells(self, row: PaperRow) -> list[Cell]:
        """A row's cells in the order of the columns, blank ones too."""
        return [getattr(row, column.id) for column in self.columns]


def read_yaml(name: str) -> str:
    """The text of a file of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def parse_yaml(text: str) -> Any:
    """YAML as plain containers; its shape is the caller's business."""
    return yaml.safe_load(text)


def parse_columns(content: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns of a table, in order."""
    return tuple(Column(id=name, **column) for name, column in content.items())


def parse_row(entry: Mapping[str, Any], columns: Sequence[Column], *, table: str, source: str) -> dict[str, Any]:
    """A row's entries with its cells in place of what stands for them; a column that is not named is blank."""
    cells = {
        column.id: _cell(entry.get(column.id), column, cell_id=f"{table}.{entry['id']}.{column.id}", source=source)
        for column in columns
    }
    return {**entry, **cells}


def _cell(entry: str | Mapping[str, Any] | None, column: Column, *, cell_id: str, source: str) -> Cell:
    """A cell from its printed text, from the text with remarks, or from nothing.

    Asserts that the number, printed again, is the text.
    """
    if not isinstance(entry, Mapping):
        entry = {"printed": entry}
    text: str = entry["printed"] or ""
    mantissa, exponent, _ = text.partition("e")
    decimals = len(mantissa.partition(".")[2]) if column.decimals is None else column.decimals
    order = parse_order(entry["order"]) if "order" in entry else None
    cell = Cell(
        value=float(text) if text and order is None else None,
        decimals=decimals if order is None else 0,
        unit=column.unit,
        id=cell_id,
        source=source,
        scientific=bool(exponent) and order is None,
        order=order,
        note=entry.get("note"),
        elsewhere=tuple(
            _cell(other, column, cell_id=cell_id, source=version)
            for version, other in entry.get("elsewhere", {}).items()
        ),
    )
    assert str(cell) == text, f"{cell_id}: {text!r} is not printed with {cell.decimals} decimals; it reads {cell}"
    return cell
