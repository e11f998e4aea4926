"""Reports as plain data, and their one renderer: terminal, Markdown, LaTeX, CSV and JSON."""

import csv
import io
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.box import SIMPLE
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from aiayn.errors import shown
from aiayn.reports.content import Content, content_text
from aiayn.reports.fitting import Fitted, fitted
from aiayn.reports.grid import Grid
from aiayn.system import files
from aiayn.system.output_format import Format, output_format
from aiayn.system.progress import mark_printed

if TYPE_CHECKING:  # imports numpy
    from aiayn.reports.reported_runs import ReportedRun

WIDTH_OF_A_FILE = 200
"""Columns if standard output is no terminal."""

LATEX_CHARACTERS = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "|": r"\textbar{}",
    "ε": r"$\epsilon$",
    "<": r"$<$",
    ">": r"$>$",
    "[": "{[}",  # after the \\ of a line, a bracket would be its argument, and so would a star
    "*": "{*}",
}

LATEX_SYMBOL = re.compile(r"(?<![\w./])(?P<letter>[dP]|ε)_(?P<index>model|ff|k|v|drop|ls)(?!\w)")
"""The paper's symbols, typeset as formulas; not parts of a key or a path."""

LATEX_LETTER = "[À-ÏÑ-ÖØ-Ýß-ïñ-öø-ýÿ]"
"""Non-ASCII letters that every LaTeX font has."""

SIDEWAYS_FROM = 12
"""Columns from which a LaTeX table is rotated."""


class Evidence(NamedTuple):
    """The runs that a report was computed from."""

    runs: "Sequence[ReportedRun]"
    split: str
    """The split that it is about."""


@dataclass(frozen=True)
class Document:
    """A report: tables, and remarks on them."""

    title: str
    written: str
    """Names the command, as in "Written by `aiayn report cost`."."""
    grids: Sequence[Grid]
    remarks: Sequence[str] = ()
    lead: str = ""
    """A sentence above the tables."""
    remarks_title: str = ""
    """Of a Markdown page."""
    terminal_grids: Sequence[Grid] = ()
    """Narrower tables for the terminal; empty: the same."""
    command: str = ""
    """To run next."""
    runs: Sequence[Path] = ()
    """Run directories that a Markdown page lists."""
    content: Content = field(kw_only=True)
    """The content of the JSON document."""
    rows: Sequence[Mapping[str, Any]] = ()
    """Of the CSV file."""
    evidence: Evidence | None = None
    """What a publication of it holds; None: it cannot be published."""


_collected: ContextVar[list[Document] | None] = ContextVar("collected", default=None)


@contextmanager
def documents_collected() -> Iterator[list[Document]]:
    """Collect the reports that `show` gets within the block, instead of printing or writing them."""
    collected: list[Document] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def show(document: Document, output: Path | None) -> None:
    """Print a report, or write it in the format of the file's suffix (see `FORMATS`) and print the path."""
    if (collected := _collected.get()) is not None:
        collected.append(document)
        return
    if output is not None:
        files.write_text(output, FORMATS[output.suffix](document))
        print(output)  # noqa: T201
        return
    if output_format() is Format.json:
        print_content(document.content)
        return
    terminal = console()
    if document.lead:
        print_text(document.lead, terminal)
    for grid in document.terminal_grids or document.grids:
        print_grid(grid, terminal)
    for line in document.remarks:
        print_text(line, terminal)
    if document.command:
        print_line(f"\n{document.command}", terminal)


def print_content(content: Content) -> None:
    """Print a document for programs, the only one on standard output."""
    sys.stdout.write(content_text(content))


def markdown(document: Document) -> str:
    """A page."""
    sections = [
        f"# {document.title}",
        document.lead,
        document.written,
        *map(markdown_table, document.grids),
        f"## {document.remarks_title}" if document.remarks_title else "",
        "\n".join(f"- {line}" for line in document.remarks),
        f"```\n{document.command}\n```" if document.command else "",
        "## Runs\n\n" + "\n".join(f"- `{path}`" for path in document.runs) if document.runs else "",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def latex(document: Document) -> str:
    r"""Tables and notes for \input into a document."""
    notes = r"\\".join(f"\n{latex_text(line)}" for line in document.remarks)
    sections = [
        f"% {document.written}\n% Needs \\usepackage{{booktabs,graphicx,rotating}}.",
        latex_text(document.lead),
        *map(latex_table, document.grids),
        f"{{\\small\\noindent{notes}\\par}}",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def comma_separated(document: Document) -> str:
    """The document's rows."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, document.rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(document.rows)
    return stream.getvalue()


FORMATS: Mapping[str, Callable[[Document], str]] = {
    ".md": markdown,
    ".tex": latex,
    ".csv": comma_separated,
    ".json": lambda document: content_text(document.content),
}
"""By the suffix of the file."""


class _Console(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Show control characters of texts, which may be those of others, instead of sending them to the terminal."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=shown(segment.text))

    def on_broken_pipe(self) -> None:
        """Let the command end as it does for any closed pipe; rich would exit."""
        raise BrokenPipeError


def console() -> Console:
    """As wide as the terminal; wider into a file, so that nothing is cut. No text has a code of rich's own."""
    mark_printed()
    output = _Console(highlight=False, markup=False, emoji=False)
    if not output.is_terminal:
        output.width = WIDTH_OF_A_FILE
    return output


def print_text(text: str, terminal: Console) -> None:
    """Print lines: a terminal wraps them between words, of which long ones such as paths stay whole, to be copied."""
    for line in text.splitlines():
        wrapped = textwrap.wrap(line, terminal.width, break_long_words=False, break_on_hyphens=False)
        print_line("\n".join(wrapped) if terminal.is_terminal else line, terminal)


def print_line(text: str, terminal: Console) -> None:
    """Print text with its tabs, which rich would replace: a command can be copied."""
    terminal.file.write(f"{shown(text)}\n")


def print_grid(grid: Grid, terminal: Console) -> None:
    """Print a table, or several that fit the terminal."""
    for part in rich_tables(grid, terminal.width):
        terminal.print(part)


def rich_tables(grid: Grid, width: int) -> Iterator[Text | Table]:
    """The tables that show a grid in so many columns of the terminal, each below its title."""
    groups = tuple(tuple(tuple(map(shown, line)) for line in group) for group in grid.groups)
    escaped = Grid(shown(grid.title), tuple(map(shown, grid.headings)), groups)  # before it is measured
    for part in fitted(escaped, width):
        if part.grid.title:
            yield Text(f"\n{part.grid.title}")
        yield _rich_table(part)


def _rich_table(part: Fitted) -> Table:
    table = Table(box=SIMPLE, pad_edge=False, padding=(0, part.gap - 1, 0, 0))
    for (heading, is_left), width in zip(part.grid.columns, part.widths, strict=True):
        table.add_column(
            heading,
            justify="left" if is_left else "right",
            overflow="fold",  # cut cells could look alike
            width=width,
        )
    for group in part.grid.groups:
        for line in group:
            table.add_row(*line)
        table.add_section()
    return table


def markdown_table(grid: Grid) -> str:
    """A section of a page; the table alone if it has no title."""
    lines = [
        *([f"## {grid.title}", ""] if grid.title else []),
        _markdown_line([heading for heading, _ in grid.columns]),
        _markdown_line(["---" if is_left else "---:" for _, is_left in grid.columns]),
        *(_markdown_line(line) for group in grid.groups for line in group),
    ]
    return "\n".join(lines)


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def latex_table(grid: Grid) -> str:
    """A table environment, at most as wide as a line."""
    environment = "table" if len(grid.columns) < SIDEWAYS_FROM else "sidewaystable"
    alignment = "".join("l" if is_left else "r" for _, is_left in grid.columns)
    rules = "\n\\midrule\n"
    lines = [
        rf"\begin{{{environment}}}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{latex_text(grid.title)}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{@{{}}{alignment}@{{}}}}",
        r"\toprule",
        _latex_line([heading for heading, _ in grid.columns]),
        r"\midrule",
        rules.join("\n".join(_latex_line(line) for line in group) for group in grid.groups),
        r"\bottomrule",
        r"\end{tabular}}",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines)


def _latex_line(cells: Sequence[str]) -> str:
    return f"{' & '.join(latex_text(cell) for cell in cells)} \\\\"


def latex_text(text: str) -> str:
    """Plain text with special characters escaped, and the paper's symbols as formulas."""
    return re.sub(rf"{LATEX_SYMBOL.pattern}|[^\n -~]|[\\&%$#_{{}}~^|<>\[*]", _latex_part, text)


def _latex_part(found: re.Match[str]) -> str:
    if found["letter"] is not None:
        letter = LATEX_CHARACTERS.get(found["letter"], found["letter"]).strip("$")
        return f"${letter}_{{\\mathrm{{{found['index']}}}}}$"
    character = found[0]
    if character in LATEX_CHARACTERS:
        return LATEX_CHARACTERS[character]
    return character if re.fullmatch(LATEX_LETTER, character) else f"U+{ord(character):04X}"
