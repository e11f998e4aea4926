"""Table 4 of the paper, read from table4.yaml into frozen types."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from aiayn.paper.cells import Caption, Cell, PaperRow, PaperTable, parse_columns, parse_row, parse_yaml, read_yaml


@dataclass(frozen=True)
class ParsingCaption(Caption):
    """Facts of the whole table (section 6.3)."""

    dev_set: str
    test_set: str


@dataclass(frozen=True)
class TrainingKind:
    """Training data of the Transformer."""

    sentences: int
    """Approximate."""
    vocabulary_size: int


@dataclass(frozen=True, kw_only=True)
class Parser(PaperRow):
    """One line of the table; its group is the kind of training: WSJ only, semi-supervised, multi-task or generative."""

    f1: Cell


@dataclass(frozen=True, kw_only=True)
class Table4(PaperTable):
    """English constituency parsers, in the paper's order."""

    caption: ParsingCaption
    rows: tuple[Parser, ...]
    settings: Mapping[str, int | float]
    """Changes of the Transformer's rows against Table 3's base, by configuration key."""
    training: Mapping[str, TrainingKind]
    """By the group of the Transformer's rows."""


@cache
def load_table4() -> Table4:
    """Table 4 as the paper prints it."""
    return parse_table4(read_yaml("table4.yaml"))


def parse_table4(text: str) -> Table4:
    """Build the table from YAML of table4.yaml's shape."""
    content = parse_yaml(text)
    caption, columns = ParsingCaption(**content["caption"]), parse_columns(content["columns"])
    return Table4(
        caption=caption,
        settings=MappingProxyType(content["settings"]),
        training=MappingProxyType({kind: TrainingKind(**facts) for kind, facts in content["training"].items()}),
        columns=columns,
        rows=tuple(
            Parser(**parse_row(entry, columns, table="table4", source=caption.source)) for entry in content["rows"]
        ),
    )
