"""The paper's four tables, read from YAML into frozen types."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Generic, TypeAlias, TypeVar

from aiayn.errors import UserError
from aiayn.paper.cells import Cell, Column, parse_cell, read_yaml

Setting = int | float | str
"""A value of a configuration key."""

SETTINGS = {
    "model.num_layers": "N",
    "model.d_model": "d_model",
    "model.d_ff": "d_ff",
    "model.num_heads": "h",
    "model.d_k": "d_k",
    "model.d_v": "d_v",
    "model.dropout": "P_drop",
    "optimization.label_smoothing": "ε_ls",
    "model.positions": "positions",
    "optimization.max_steps": "steps",
}
"""Table 3's columns of settings; learned positions stand in a note across them there."""


@dataclass(frozen=True, kw_only=True)
class Caption:
    """The caption of a table, and conditions that its section states."""

    title: str
    source: str
    """The version of the paper that the cells were read from."""
    language_pair: str = ""
    dev_set: str = ""


@dataclass(frozen=True, kw_only=True)
class PaperRow:
    """A line of any table; its cells are fields named as the columns are."""

    id: str
    label: str
    group: str = ""
    note: str | None = None
    """A known oddity of the row."""

    def cell(self, column: str) -> Cell:
        """The cell of a column."""
        found: Cell = getattr(self, column)
        return found


@dataclass(frozen=True, kw_only=True)
class Layer(PaperRow):
    """A layer type of Table 1; its cells are orders of growth."""

    complexity: Cell
    sequential_operations: Cell
    maximum_path_length: Cell


@dataclass(frozen=True, kw_only=True)
class PublishedSystem(PaperRow):
    """A translation system of Table 2; its group is single, ensemble or transformer."""

    en_de: Cell
    en_fr: Cell
    flops_en_de: Cell
    flops_en_fr: Cell


@dataclass(frozen=True, kw_only=True)
class Row(PaperRow):
    """A row of Table 3; its group is base, a letter from A to E, or big. A blank cell means "as base"."""

    changes: Mapping[str, Setting]
    """Printed differences from base, by configuration key."""
    ppl: Cell
    bleu: Cell
    parameters: Cell

    def settings(self, table: "Table3") -> dict[str, Setting]:
        """The table's base settings with this row's changes."""
        return {**table.base, **self.changes}


@dataclass(frozen=True, kw_only=True)
class Parser(PaperRow):
    """A parser of Table 4; its group is the kind of training."""

    f1: Cell


AnyRow = TypeVar("AnyRow", bound=PaperRow, covariant=True)


@dataclass(frozen=True, kw_only=True)
class PaperTable(Generic[AnyRow]):
    """Any of the four tables, in the paper's order."""

    number: int
    caption: Caption
    columns: tuple[Column, ...]
    rows: tuple[AnyRow, ...]

    def cells(self, row: PaperRow) -> list[Cell]:
        """A row's cells in the order of the columns, blank ones too."""
        return [row.cell(column.id) for column in self.columns]

    def row(self, row_id: str) -> AnyRow:
        """The row of this id.

        Raises:
            UserError: there is none.
        """
        for row in self.rows:
            if row.id == row_id:
                return row
        known = ", ".join(row.id for row in self.rows)
        raise UserError(f"{row_id!r} is no row of Table {self.number}: choose one of {known}")


@dataclass(frozen=True, kw_only=True)
class Table1(PaperTable[Layer]):
    """Costs of layer types (section 4)."""

    sizes: Mapping[str, str]
    """Meaning of each size in the orders of growth."""


@dataclass(frozen=True, kw_only=True)
class Table2(PaperTable[PublishedSystem]):
    """Translation systems (section 6.1)."""


@dataclass(frozen=True, kw_only=True)
class Table3(PaperTable[Row]):
    """Variations on the base model (section 6.2)."""

    base: Mapping[str, Setting]


@dataclass(frozen=True, kw_only=True)
class Table4(PaperTable[Parser]):
    """English constituency parsers (section 6.3)."""

    settings: Mapping[str, int | float]
    """Changes of the Transformer's rows against Table 3's base, by configuration key."""
    training: Mapping[str, Mapping[str, int]]
    """Sentences, approximately, and vocabulary size, by the group of the Transformer's rows."""


AnyTable: TypeAlias = PaperTable[PaperRow]
Table = TypeVar("Table", bound=AnyTable)


def _read(number: int, table: type[Table], row: type[PaperRow]) -> Table:
    content = read_yaml(f"table{number}.yaml")
    caption = Caption(**content["caption"])
    columns = tuple(Column(id=name, **column) for name, column in content["columns"].items())
    rows = []
    for entry in content["rows"]:
        cells = {
            column.id: parse_cell(
                entry.get(column.id), column, cell_id=f"table{number}.{entry['id']}.{column.id}", source=caption.source
            )
            for column in columns
        }
        rows.append(row(**{**entry, **cells}))
    return table(**{**content, "number": number, "caption": caption, "columns": columns, "rows": tuple(rows)})


@cache
def load_table1() -> Table1:
    """Table 1 as the paper prints it."""
    return _read(1, Table1, Layer)


@cache
def load_table2() -> Table2:
    """Table 2 as the paper prints it."""
    return _read(2, Table2, PublishedSystem)


@cache
def load_table3() -> Table3:
    """Table 3 as the paper prints it."""
    return _read(3, Table3, Row)


@cache
def load_table4() -> Table4:
    """Table 4 as the paper prints it."""
    return _read(4, Table4, Parser)


TABLES: Mapping[int, Callable[[], AnyTable]] = MappingProxyType(
    {1: load_table1, 2: load_table2, 3: load_table3, 4: load_table4}
)
"""The readers of the tables, by number."""


def value_text(key: str, value: object) -> str:
    """A setting as the paper prints it: steps in thousands where they are whole ones, as in 100K."""
    if key == "optimization.max_steps" and isinstance(value, int):
        return f"{value:,}" if value % 1000 else f"{value // 1000}K"
    return str(value)


def in_symbols(settings: Mapping[str, object]) -> str:
    """Settings, by configuration key, in the paper's symbols, as in "h=4, d_k=d_v=128"; other keys by their last part.

    Equal widths of keys and values are one.
    """
    named = {SETTINGS.get(key) or key.rpartition(".")[2]: value_text(key, value) for key, value in settings.items()}
    if "d_k" in named and named["d_k"] == named.get("d_v"):
        del named["d_v"]
        named = {"d_k=d_v" if name == "d_k" else name: value for name, value in named.items()}
    return ", ".join(f"{name}={value}" for name, value in named.items())
