"""The paper's own tables, on the terminal or as Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aiayn.errors import UserError
from aiayn.paper.tables import TABLES, AnyTable
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid


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
        schema="paper/1",
        content={"tables": [_plain(number, table) for number, table in tables.items()]},
    )


def _plain(number: int, table: AnyTable) -> dict[str, Any]:
    """A table for JSON."""
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
