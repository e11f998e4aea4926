"""Table 1 of the paper, read from table1.yaml into frozen types."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from aiayn.paper.cells import Caption, Cell, PaperRow, PaperTable, parse_columns, parse_row, parse_yaml, read_yaml


@dataclass(frozen=True, kw_only=True)
class Layer(PaperRow):
    """One line of the table: a kind of layer. Its cells are orders of growth."""

    complexity: Cell
    sequential_operations: Cell
    maximum_path_length: Cell


@dataclass(frozen=True, kw_only=True)
class Table1(PaperTable):
    """Costs of layer types (section 4), in the paper's order."""

    rows: tuple[Layer, ...]
    sizes: Mapping[str, str]
    """Meaning of each size in the orders of growth."""


@cache
def load_table1() -> Table1:
    """Table 1 as the paper prints it."""
    return parse_table1(read_yaml("table1.yaml"))


def parse_table1(text: str) -> Table1:
    """Build the table from YAML of table1.yaml's shape."""
    content = parse_yaml(text)
    caption, columns = Caption(**content["caption"]), parse_columns(content["columns"])
    return Table1(
        caption=caption,
        sizes=MappingProxyType(content["sizes"]),
        columns=columns,
        rows=tuple(
            Layer(**parse_row(entry, columns, table="table1", source=caption.source)) for entry in content["rows"]
        ),
    )
