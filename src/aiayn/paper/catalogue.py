"""Every cell that the paper prints, by one id: `<table>.<row>.<column>`, as in `table2.transformer_big.en_fr`."""

import difflib
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from aiayn.errors import UserError
from aiayn.paper.cells import Cell, PaperTable
from aiayn.paper.table1 import load_table1
from aiayn.paper.table2 import load_table2
from aiayn.paper.table3 import load_table3
from aiayn.paper.table4 import load_table4

TABLES: Mapping[int, Callable[[], PaperTable]] = MappingProxyType(
    {1: load_table1, 2: load_table2, 3: load_table3, 4: load_table4}
)
"""The readers of the paper's tables, by number."""


def cells() -> Mapping[str, Cell]:
    """Every printed cell by its id, in the paper's order."""
    return MappingProxyType({name: found for name, found in _places().items() if found.printed})


def cell(cell_id: str) -> Cell:
    """The printed cell called `cell_id`.

    Raises:
        UserError: the paper prints no such cell; the message names the nearest one.
    """
    found = _places().get(cell_id)
    if found is not None and found.printed:
        return found
    fault = "there is no such cell in the paper" if found is None else "the paper leaves this cell blank"
    (nearest,) = difflib.get_close_matches(cell_id, cells(), n=1, cutoff=0.0)
    raise UserError(f"{cell_id!r}: {fault}; the nearest that is printed is {nearest}")


@cache
def _places() -> Mapping[str, Cell]:
    """Every cell by its id, blank ones too."""
    tables = [load() for load in TABLES.values()]
    found = [cell for table in tables for row in table.rows for cell in table.cells(row)]
    by_id = MappingProxyType({cell.id: cell for cell in found})
    assert len(by_id) == len(found), "two cells have one id"
    return by_id
