"""Table 3 of the paper, read from table3.yaml into frozen types."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from aiayn.errors import UserError
from aiayn.paper.cells import Caption, Cell, PaperRow, PaperTable, parse_columns, parse_row, parse_yaml, read_yaml

__all__ = ["SETTINGS", "Cell", "Row", "Setting", "Table3", "in_symbols", "load_table3", "parse_table3", "value_text"]

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
"""The paper's columns; learned positions stand in a note across them there."""


@dataclass(frozen=True)
class VariationsCaption(Caption):
    """Facts of the whole table (section 6.2)."""

    language_pair: str
    dev_set: str
    decoding: str
    checkpoint_averaging: bool


@dataclass(frozen=True, kw_only=True)
class Row(PaperRow):
    """One line of the table; its group is base, a letter from A to E, or big. A blank cell means "as base"."""

    changes: Mapping[str, Setting]
    """Printed differences from base, by configuration key."""
    ppl: Cell
    bleu: Cell
    parameters: Cell

    def settings(self, table: "Table3") -> dict[str, Setting]:
        """The table's base settings with this row's changes."""
        return {**table.base, **self.changes}


@dataclass(frozen=True, kw_only=True)
class Table3(PaperTable):
    """Variations on the base model, in the paper's order."""

    caption: VariationsCaption
    rows: tuple[Row, ...]
    base: Mapping[str, Setting]

    @property
    def notes(self) -> Mapping[str, str]:
        """Remarks on whole columns, by column."""
        return {column.id: column.note for column in self.columns if column.note}

    def row(self, row_id: str) -> Row:
        """The row of this id.

        Raises:
            UserError: there is none.
        """
        for row in self.rows:
            if row.id == row_id:
                return row
        raise UserError(f"{row_id!r} is no row of Table 3: choose one of {', '.join(row.id for row in self.rows)}")


def value_text(key: str, value: object) -> str:
    """A setting as the paper prints it: steps in thousands where they are whole ones, as in 100K."""
    if key == "optimization.max_steps" and isinstance(value, int):
        return f"{value:,}" if value % 1000 else f"{value // 1000}K"
    return str(value)


def in_symbols(settings: Mapping[str, object]) -> str:
    """Settings in the paper's symbols, as in "h=4, d_k=d_v=128"; other keys by their last part.

    Args:
        settings: by configuration key; equal widths of keys and values are one.
    """
    named = {SETTINGS.get(key) or key.rpartition(".")[2]: value_text(key, value) for key, value in settings.items()}
    if "d_k" in named and named["d_k"] == named.get("d_v"):
        del named["d_v"]
        named = {"d_k=d_v" if name == "d_k" else name: value for name, value in named.items()}
    return ", ".join(f"{name}={value}" for name, value in named.items())


@cache
def load_table3() -> Table3:
    """Table 3 as the paper prints it."""
    return parse_table3(read_yaml("table3.yaml"))


def parse_table3(text: str) -> Table3:
    """Build the table from YAML of table3.yaml's shape."""
    content = parse_yaml(text)
    caption, columns = VariationsCaption(**content["caption"]), parse_columns(content["columns"])
    rows = [parse_row(entry, columns, table="table3", source=caption.source) for entry in content["rows"]]
    return Table3(
        caption=caption,
        columns=columns,
        base=MappingProxyType(content["base"]),
        rows=tuple(Row(**{**row, "changes": MappingProxyType(row["changes"])}) for row in rows),
    )
