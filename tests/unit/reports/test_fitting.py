"""A table in the width of a terminal: no figure is cut, and no line breaks inside a word."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from aiayn.reports.comparability import comparable_runs
from aiayn.reports.fidelity import differing_settings
from aiayn.reports.fitting import fitted
from aiayn.reports.formats import rich_tables
from aiayn.reports.grid import Grid
from aiayn.reports.tables.table3 import document
from aiayn.reports.tables.table3_results import report_of
from aiayn.runs.ledger import read_results


def printed(grid: Grid, width: int) -> str:
    output = Console(file=io.StringIO(), width=width)
    for part in rich_tables(grid, width):
        output.print(part)
    assert isinstance(output.file, io.StringIO)
    return output.file.getvalue()


def check(grid: Grid, width: int) -> None:
    text = printed(grid, width)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    for group in grid.groups:
        for line in group:
            for cell in line:
                assert all(word in words for word in cell.split()), cell


word = st.text("abcxyz0189.", min_size=1, max_size=12)
cell = st.lists(word, max_size=6).map(" ".join)


@given(st.data(), st.integers(2, 9), st.integers(60, 120))
def test_no_word_is_broken(data: st.DataObject, columns: int, width: int) -> None:
    headings = tuple(f"{data.draw(st.sampled_from(['<', '']))}{data.draw(word)}" for _ in range(columns))
    lines = st.lists(st.tuples(*[cell if heading[0] == "<" else word for heading in headings]), min_size=1, max_size=4)
    check(Grid("title", headings, (tuple(data.draw(lines)),)), width)


@given(st.data())
def test_every_part_names_the_rows(data: st.DataObject) -> None:
    lines = tuple((f"row{number}", *data.draw(st.tuples(*[word] * 12))) for number in range(3))
    parts = fitted(Grid("", ("<row", *"abcdefghijkl"), (lines,)), 40)
    assert all(part.grid.headings[0] == "<row" for part in parts)
    assert [heading for part in parts for heading in part.grid.headings[1:]] == [*"abcdefghijkl"]


def test_a_word_wider_than_the_table_breaks_no_name() -> None:
    signature = "nrefs:1|case:mixed|tok:moses-de|smooth:none|sacremoses:0.2.0"
    names = ("multi-bleu.perl on tokens, compounds split", "multi-bleu.perl, words as they came")
    lines = ((names[0], "70.1", "70.2", signature + 30 * "x"), (names[1], "70.1", "70.2", signature))
    text = printed(Grid("", ("<definition", "dev", "test", "<signature"), (lines,)), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert signature in text.split()
    assert all(text.split().count(word) >= 2 for word in " ".join(names).split()), "in both tables"


@pytest.mark.parametrize("width", [80, 120])
def test_real_tables_fit(make_run: Callable[..., Path], tmp_path: Path, width: int) -> None:
    for row in ("base", "big", "a_h1"):
        make_run(row)
    found = comparable_runs(read_results(tmp_path / "runs"), tmp_path, scale=None, data=None, like=None)
    report = document(report_of(found, tmp_path / "runs"))
    for grid in report.terminal_grids:
        check(grid, width)


@pytest.mark.parametrize("width", [80, 120])
def test_explanations_of_settings_are_whole(width: int) -> None:
    names = ["paper", "fairseq", "tensor2tensor_2017", "tensor2tensor_final"]
    headings = ("<key", *(f"<{name}" for name in names), "<meaning")
    check(Grid("", headings, (tuple(differing_settings(names)),)), width)
