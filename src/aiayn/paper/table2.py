"""Table 2 of the paper, read from table2.yaml into frozen types."""

from dataclasses import dataclass
from functools import cache

from aiayn.paper.cells import Caption, Cell, PaperRow, PaperTable, parse_columns, parse_row, parse_yaml, read_yaml


@dataclass(frozen=True)
class TranslationCaption(Caption):
    """Facts of the whole table (section 6.1)."""

    test_set: str


@dataclass(frozen=True, kw_only=True)
class System(PaperRow):
    """One line of the table: a system that translates; its group is single, ensemble or transformer."""

    en_de: Cell
    en_fr: Cell
    flops_en_de: Cell
    flops_en_fr: Cell


@dataclass(frozen=True, kw_only=True)
class Table2(PaperTable):
    """Translation systems, in the paper's order."""

    caption: TranslationCaption
    rows: tuple[System, ...]

    def row(self, row_id: str) -> System:
        """The system of an id.

        Raises:
            KeyError: there is none.
        """
        return {row.id: row for row in self.rows}[row_id]


@cache
def load_table2() -> Table2:
    """Table 2 as the paper prints it."""
    return parse_table2(read_yaml("table2.yaml"))


def parse_table2(text: str) -> Table2:
    """Build the table from YAML of table2.yaml's shape."""
    content = parse_yaml(text)
    caption, columns = TranslationCaption(**content["caption"]), parse_columns(content["columns"])
    return Table2(
        caption=caption,
        columns=columns,
        rows=tuple(
            System(**parse_row(entry, columns, table="table2", source=caption.source)) for entry in content["rows"]
        ),
    )
