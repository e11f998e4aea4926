"""The paper's own tables, on the terminal or as Markdown."""

from pathlib import Path

from rich.table import Table

from aiayn.errors import UserError
from aiayn.paper.tables import TABLES, AnyTable, PaperRow
from aiayn.reports.formats import console
from aiayn.system import files

LABELS = ("row", "group", "name")


def report_paper(number: int | None, output: Path | None) -> None:
    """Print a table of the paper, or write it as Markdown.

    Args:
        number: which one; None: all four.
        output: the file to write; None prints.

    Raises:
        UserError: the paper has no such table.
    """
    if number is not None and number not in TABLES:
        raise UserError(
            f"table={number}: the paper has tables {', '.join(map(str, TABLES))}; choose one, or none for all"
        )
    tables = {known: load() for known, load in TABLES.items() if number in (None, known)}
    if output is not None:
        files.write_text(output, markdown(tables))
        print(output)  # noqa: T201
        return
    output_to = console()
    for known, table in tables.items():
        output_to.print(_grid(known, table))
        for remark in remarks(table):
            output_to.print(f"- {remark}")


def markdown(tables: dict[int, AnyTable]) -> str:
    """Tables of the paper as a page, by number."""
    parts = ["# Tables of “Attention Is All You Need”", "Written by `aiayn report paper`."]
    for number, table in tables.items():
        headings = _headings(table)
        marks = ["---" if heading in LABELS else "---:" for heading in headings]
        lines = [headings, marks, *(_cells(table, row) for row in table.rows)]
        parts += [
            f"## {_title(number, table)}",
            "\n".join("| " + " | ".join(line) + " |" for line in lines),
            "\n".join(f"- {remark}" for remark in remarks(table)),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def remarks(table: AnyTable) -> list[str]:
    """Notes on columns, rows and cells, and the cells of other versions of the paper."""
    found = [f"{column.heading}: {column.note}" for column in table.columns if column.note]
    for row in table.rows:
        found += [f"{row.id}: {row.note}"] if row.note else []
        for cell in table.cells(row):
            found += [f"{cell.id}: {other} in {other.source}." for other in cell.elsewhere]
            found += [f"{cell.id}: {cell.note}"] if cell.note else []
    return found


def _title(number: int, table: AnyTable) -> str:
    return f"Table {number}. {table.caption.title} ({table.caption.source})"


def _labels(table: AnyTable) -> list[str]:
    return [label for label in LABELS if label != "group" or any(row.group for row in table.rows)]


def _headings(table: AnyTable) -> list[str]:
    return [*_labels(table), *(column.heading for column in table.columns)]


def _cells(table: AnyTable, row: PaperRow) -> list[str]:
    labels = {"row": row.id, "group": row.group, "name": row.label}
    return [*(labels[label] for label in _labels(table)), *map(str, table.cells(row))]


def _grid(number: int, table: AnyTable) -> Table:
    grid = Table(title=_title(number, table), title_justify="left")
    for heading in _headings(table):
        grid.add_column(heading, justify="left" if heading in LABELS else "right", overflow="fold")
    for row in table.rows:
        grid.add_row(*_cells(table, row))
    return grid
