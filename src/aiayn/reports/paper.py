"""The paper's own tables, on the terminal or as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from aiayn.errors import UserError
from aiayn.paper.tables import TABLES, AnyTable
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid


@dataclass(frozen=True)
class PrintedColumn:
    """A column of results."""

    id: str
    """Name of the column."""
    heading: str
    """Heading as printed."""
    unit: str
    """Unit of the numbers."""


@dataclass(frozen=True)
class PrintedCell:
    """A cell of a table."""

    value: float | None
    """The number; None for a blank, and for an order of growth."""
    printed: str
    """The cell as printed; empty for a blank."""


@dataclass(frozen=True)
class PrintedLine:
    """A row of a table."""

    id: str
    """Name of the row."""
    label: str
    """Label as printed."""
    group: str | None
    """Group of rows; None for rows without one."""
    cells: Mapping[str, PrintedCell]
    """The cells by column."""


@dataclass(frozen=True)
class PrintedTable:
    """A table of the paper."""

    number: int
    """Number of the table, 1 to 4."""
    title: str
    """Caption."""
    source: str
    """Version of the paper."""
    columns: tuple[PrintedColumn, ...]
    """The columns of results."""
    rows: tuple[PrintedLine, ...]
    """The rows."""
    remarks: tuple[str, ...]
    """Known oddities, and other versions of the paper."""


@dataclass(frozen=True)
class PaperContent(Content):
    """Tables of the paper: aiayn report paper."""

    schema: ClassVar = "paper/1"

    tables: tuple[PrintedTable, ...]
    """The tables."""


def report_paper(number: int | None, output: Path | None) -> None:
    """Print a table of the paper (None: all four), or write it to a .md file.

    Raises:
        UserError: the paper has no such table.
    """
    if number not in (None, *TABLES):
        known = ", ".join(map(str, TABLES))
        raise UserError(f"table={number}: the paper has tables {known}; choose one, or none for all")
    show(document(list(TABLES) if number is None else [number]), output)


def document(numbers: Sequence[int]) -> Document:
    """Some of the paper's tables."""
    tables = {number: TABLES[number]() for number in numbers}
    return Document(
        title="Tables of “Attention Is All You Need”",
        written="Written by `aiayn report paper`.",
        grids=[_grid(number, table) for number, table in tables.items()],
        remarks=[line for table in tables.values() for line in remarks(table)],
        remarks_title="Remarks",
        content=PaperContent(tuple(_content(number, table) for number, table in tables.items())),
    )


def _content(number: int, table: AnyTable) -> PrintedTable:
    """A table in a document for programs."""
    columns = tuple(PrintedColumn(each.id, each.heading, each.unit) for each in table.columns)
    rows = []
    for row in table.rows:
        cells = {each.id: row.cell(each.id) for each in columns}
        printed = {name: PrintedCell(cell.value, str(cell)) for name, cell in cells.items()}
        rows.append(PrintedLine(row.id, row.label, row.group or None, printed))
    caption = table.caption
    return PrintedTable(number, caption.title, caption.source, columns, tuple(rows), tuple(remarks(table)))


def remarks(table: AnyTable) -> list[str]:
    """Notes on columns, rows and cells, and the cells of other versions of the paper."""
    found = [f"{column.heading}: {column.note}" for column in table.columns if column.note]
    for row in table.rows:
        found += [f"{row.id}: {row.note}"] if row.note else []
        for cell in table.cells(row):
            found += [f"{cell.id}: {other} in {other.source}." for other in cell.elsewhere]
            found += [f"{cell.id}: {cell.note}"] if cell.note else []
    return found


def _grid(number: int, table: AnyTable) -> Grid:
    has_groups = any(row.group for row in table.rows)
    labels = ("<row", "<group", "<name") if has_groups else ("<row", "<name")
    lines = tuple(
        (row.id, *([row.group] if has_groups else []), row.label, *map(str, table.cells(row))) for row in table.rows
    )
    headings = (*labels, *(column.heading for column in table.columns))
    return Grid(f"Table {number}. {table.caption.title} ({table.caption.source})", headings, (lines,))
