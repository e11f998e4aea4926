"""The paper's own tables, on the terminal or as Markdown."""

from pathlib import Path

from aiayn.errors import UserError
from aiayn.paper.tables import TABLES, AnyTable
from aiayn.reports.formats import Document, Grid, markdown_table, show
from aiayn.system import files


def report_paper(number: int | None, output: Path | None) -> None:
    """Print a table of the paper (None: all four), or write it as Markdown.

    Raises:
        UserError: the paper has no such table.
    """
    if number not in (None, *TABLES):
        known = ", ".join(map(str, TABLES))
        raise UserError(f"table={number}: the paper has tables {known}; choose one, or none for all")
    page = ["# Tables of “Attention Is All You Need”", "Written by `aiayn report paper`."]
    for chosen in TABLES if number is None else [number]:
        table = TABLES[chosen]()
        grid, notes = _grid(chosen, table), remarks(table)
        page += [markdown_table(grid), "\n".join(f"- {note}" for note in notes)]
        if output is None:
            show(Document("", "", [grid], notes), None)
    if output is not None:
        files.write_text(output, "\n\n".join(filter(None, page)) + "\n")
        print(output)  # noqa: T201


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
