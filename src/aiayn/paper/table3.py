"""Table 3 of the paper, read from table3.yaml into frozen types."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import yaml

from aiayn.config.errors import UserError

Setting = int | float | str
"""A value of a configuration key."""


@dataclass(frozen=True)
class Cell:
    """One printed number; a blank cell has no value and means "as base"."""

    value: float | None
    decimals: int
    unit: str

    @property
    def printed(self) -> bool:
        """Whether the paper prints a number here."""
        return self.value is not None

    def __str__(self) -> str:
        return "" if self.value is None else f"{self.value:.{self.decimals}f}"


@dataclass(frozen=True)
class Caption:
    """What holds for the table as a whole (section 6.2)."""

    title: str
    source: str
    """The version of the paper that the cells were read from."""
    language_pair: str
    dev_set: str
    decoding: str
    checkpoint_averaging: bool


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    id: str
    group: str
    """base, a letter from A to E, or big."""
    label: str
    changes: Mapping[str, Setting]
    """What is printed as different from base, by configuration key."""
    ppl: Cell
    bleu: Cell
    parameters: Cell
    note: str | None = None
    """What is known to be odd about the row."""

    def settings(self, table: "Table3") -> dict[str, Setting]:
        """The table's base settings with this row's changes."""
        return {**table.base, **self.changes}


@dataclass(frozen=True)
class Table3:
    """Variations on the base model, in the paper's order."""

    caption: Caption
    notes: Mapping[str, str]
    """Remarks on whole columns, by column."""
    base: Mapping[str, Setting]
    rows: tuple[Row, ...]

    def row(self, row_id: str) -> Row:
        """The row called `row_id`.

        Raises:
            UserError: no row is called so.
        """
        for row in self.rows:
            if row.id == row_id:
                return row
        raise UserError(f"{row_id!r} is no row of Table 3: choose one of {', '.join(row.id for row in self.rows)}")


@cache
def load_table3() -> Table3:
    """Table 3 as the paper prints it."""
    text = resources.files(__package__).joinpath("table3.yaml").read_text(encoding="utf-8")
    return parse_table3(text)


def parse_table3(text: str) -> Table3:
    """Build the table from YAML of table3.yaml's shape."""
    content = yaml.safe_load(text)
    columns = content["columns"]
    return Table3(
        caption=Caption(**content["caption"]),
        notes=MappingProxyType({name: column["note"] for name, column in columns.items() if column["note"]}),
        base=MappingProxyType(content["base"]),
        rows=tuple(_row(entry, columns) for entry in content["rows"]),
    )


def _row(entry: Mapping[str, Any], columns: Mapping[str, Any]) -> Row:
    cells = {name: _cell(entry[name], columns[name]) for name in columns}
    return Row(**{**entry, **cells, "changes": MappingProxyType(entry["changes"])})


def _cell(text: str | None, column: Mapping[str, Any]) -> Cell:
    cell = Cell(None if text is None else float(text), column["decimals"], column["unit"])
    assert str(cell) == (text or ""), f"{text!r} is not printed with {cell.decimals} decimals"
    return cell
