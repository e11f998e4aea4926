"""Printed cells and columns of the paper's tables, and the reader of this package's YAML."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any

import yaml

from aiayn.paper.order import Order, parse_order


@dataclass(frozen=True)
class Cell:
    """A printed cell: a number, an order of growth, or blank."""

    value: float | None
    """None for an order of growth and for a blank cell."""
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
    """A known oddity."""
    elsewhere: tuple["Cell", ...] = ()
    """The same cell where other versions print something else."""

    @property
    def printed(self) -> bool:
        """Whether the cell is not blank."""
        return self.value is not None or self.order is not None

    @property
    def number(self) -> float:
        """The value of a cell that is known to have one."""
        assert self.value is not None, f"{self.id} is blank"
        return self.value

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
    """Digits of every number after the point; None: they differ."""
    note: str | None = None


def read_yaml(name: str) -> Any:
    """A file of this package, with read-only mappings, and tuples for lists."""
    return _frozen(yaml.safe_load(resources.files(__package__).joinpath(name).read_text(encoding="utf-8")))


def _frozen(content: Any) -> Any:
    if isinstance(content, dict):
        return MappingProxyType({key: _frozen(value) for key, value in content.items()})
    return tuple(map(_frozen, content)) if isinstance(content, list) else content


def parse_cell(entry: str | Mapping[str, Any] | None, column: Column, *, cell_id: str, source: str) -> Cell:
    """A cell from its printed text, from the text with remarks, or from nothing.

    Asserts that the number, printed again, is the text.
    """
    if not isinstance(entry, Mapping):
        entry = {"printed": entry}
    text: str = entry["printed"] or ""
    order = parse_order(entry["order"]) if "order" in entry else None
    mantissa, exponent, _ = ("", "", "") if order else text.partition("e")
    cell = Cell(
        value=float(text) if mantissa else None,
        decimals=len(mantissa.partition(".")[2]) if column.decimals is None else column.decimals,
        unit=column.unit,
        id=cell_id,
        source=source,
        scientific=bool(exponent),
        order=order,
        note=entry.get("note"),
        elsewhere=tuple(
            parse_cell(other, column, cell_id=cell_id, source=version)
            for version, other in entry.get("elsewhere", {}).items()
        ),
    )
    assert str(cell) == text, f"{cell_id}: {text!r} is not printed with {cell.decimals} decimals; it reads {cell}"
    return cell
