"""Tables of text that look alike on the terminal, in Markdown and in LaTeX."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from aiayn.system import files

Content = TypeVar("Content")

WIDTH_OF_A_FILE = 200
"""Columns where standard output is no terminal."""

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
"""The paper's own symbols, which stand in formulas there; not parts of a key or a path."""

LATEX_LETTER = "[À-ÏÑ-ÖØ-Ýß-ïñ-öø-ýÿ]"
"""What every LaTeX can print besides ASCII, whichever fonts the document has."""

SIDEWAYS_FROM = 12
"""Columns from which a table in LaTeX takes a page of its own and lies on its side, to remain legible."""


NAME_WIDTH = 24
"""Characters on the terminal that the names of rows have, whatever room that leaves to the other columns."""


@dataclass(frozen=True)
class Grid:
    """A table of text."""

    title: str
    headings: tuple[str, ...]
    """A heading that begins with < is that of a column of words, aligned left."""
    groups: tuple[tuple[tuple[str, ...], ...], ...]
    """Lines, in groups between which a rule is drawn."""

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """The headings, and whether the column is aligned left."""
        return [(heading.removeprefix("<"), heading.startswith("<")) for heading in self.headings]


def console() -> Console:
    """Where tables go: as wide as the terminal, and wider into a file, so that nothing is cut there."""
    output = Console(highlight=False, markup=False)
    return output if output.is_terminal else Console(highlight=False, markup=False, width=WIDTH_OF_A_FILE)


def print_or_write(
    content: Content,
    output: Path | None,
    formats: Mapping[str, Callable[[Content], str]],
    *,
    grids: Callable[[Content], Iterable[Grid]],
    remarks: Callable[[Content], Iterable[str]],
) -> None:
    """Print tables and, below them, a line for each remark; or write a file and print its path.

    Args:
        content: of the report.
        output: the file, or None for the terminal.
        formats: what writes the content, by the file's suffix.
        grids: the content's tables.
        remarks: the lines below.
    """
    if output is not None:
        files.write_text(output, formats[output.suffix](content))
        print(output)  # noqa: T201
        return
    terminal = console()
    for grid in grids(content):
        terminal.print(rich_table(grid))
    for line in remarks(content):
        terminal.print(line, soft_wrap=True)


def markdown_page(
    title: str,
    written: str,
    grids: Iterable[Grid],
    remarks: Iterable[str] = (),
    *,
    between: Sequence[str] = (),
    below: Sequence[str] = (),
) -> str:
    """A page in Markdown: a heading, what wrote it, tables, remarks as a list.

    Args:
        title: the heading.
        written: a sentence that names the command.
        grids: the tables.
        remarks: what is to be known of them.
        between: sections of Markdown behind the tables.
        below: sections of Markdown behind the remarks.
    """
    listed = "\n".join(f"- {line}" for line in remarks)
    sections = [f"# {title}", written, *map(markdown_table, grids), *between, listed, *below]
    return "\n\n".join(section for section in sections if section) + "\n"


def markdown_runs(paths: Iterable[Path]) -> str:
    """A section that lists the run directories that a page was made of."""
    return "## Runs\n\n" + "\n".join(f"- `{path}`" for path in paths)


def rich_table(grid: Grid) -> Table:
    """For the terminal."""
    table = Table(title=grid.title, title_justify="left", box=SIMPLE, pad_edge=False)
    longest = max((len(line[0]) for group in grid.groups for line in group if line), default=0)
    for number, (heading, is_left) in enumerate(grid.columns):
        table.add_column(
            heading,
            justify="left" if is_left else "right",
            overflow="fold",  # rows that are cut short may look the same
            min_width=None if number else min(longest, NAME_WIDTH),
        )
    for group in grid.groups:
        for line in group:
            table.add_row(*line)
        table.add_section()
    return table


def markdown_table(grid: Grid) -> str:
    """As a section of a Markdown page."""
    lines = [
        f"## {grid.title}",
        "",
        _markdown_line([heading for heading, _ in grid.columns]),
        _markdown_line(["---" if is_left else "---:" for _, is_left in grid.columns]),
        *(_markdown_line(line) for group in grid.groups for line in group),
    ]
    return "\n".join(lines)


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def latex_table(grid: Grid) -> str:
    """A table environment that needs the packages booktabs, graphicx and rotating, and is as wide as a line at most."""
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
    """Plain text with what LaTeX would take for a command made harmless, and the paper's symbols as formulas."""
    return re.sub(rf"{LATEX_SYMBOL.pattern}|[^\n -~]|[\\&%$#_{{}}~^|<>\[*]", _latex_part, text)


def _latex_part(found: re.Match[str]) -> str:
    if found["letter"] is not None:
        letter = LATEX_CHARACTERS.get(found["letter"], found["letter"]).strip("$")
        return f"${letter}_{{\\mathrm{{{found['index']}}}}}$"
    character = found[0]
    if character in LATEX_CHARACTERS:
        return LATEX_CHARACTERS[character]
    return character if re.fullmatch(LATEX_LETTER, character) else f"U+{ord(character):04X}"
