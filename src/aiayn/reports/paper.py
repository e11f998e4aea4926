"""The paper's own tables, on the terminal or as Markdown."""

from pathlib import Path
from typing import Any

from aiayn.errors import UserError
from aiayn.paper.tables import TABLES, AnyTable
from aiayn.reports.formats import Document, markdown_table, print_json, show
from aiayn.reports.grid import Grid
from aiayn.system import files
from aiayn.system.output_format import Format, output_format


def report_paper(number: int | None, output: Path | None) -> None:
    """Print a table of the paper (None: all four), or write it as Markdown.

    Raises:
        UserError: the paper has no such table.
    """
    if number not in (None, *TABLES):
        known = ", ".join(map(str, TABLES))
        raise UserError(f"table={number}: the paper has tables {known}; choose one, or none for all")
    if output is None and output_format() is Format.json:
        print_json("paper/1", {"tables": [_plain(each) for each in (TABLES if number is None else [number])]})
        return
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


def _plain(number: int) -> dict[str, Any]:
    """A table for JSON."""
    table = TABLES[number]()
    columns = [column.id for column in table.columns]
    return {
        "number": number,
        "title": table.caption.title,
        "source": table.caption.source,
        "columns": [{"id": each.id, "heading": each.heading, "unit": each.unit} for each in table.columns],
        "rows": [
            {
                "id": row.id,
                "label": row.label,
                "group": row.group or None,
                "cells": {name: {"value": cell.value, "printed": str(cell)} for name, cell in cells},
            }
            for row in table.rows
            for cells in [zip(columns, table.cells(row), strict=True)]
        ],
        "remarks": remarks(table),
    }


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
