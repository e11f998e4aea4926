"""No text breaks a table of Markdown or LaTeX, and printing changes none."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.reports.comparability import comparable_runs
from aiayn.reports.formats import (
    FORMATS,
    console,
    latex_table,
    latex_text,
    markdown_table,
    print_grid,
    print_line,
    print_text,
)
from aiayn.reports.grid import Grid
from aiayn.reports.tables.table3 import document
from aiayn.reports.tables.table3_results import report_of
from aiayn.runs.ledger import read_results


def check_latex(text: str) -> None:
    """What a TeX would refuse in such a page: braces, environments, bare special characters, numbers of columns."""
    text = re.sub(r"(?m)(?<!\\)%.*$", "", text)
    bare = re.sub(r"\\[\\&%$#_{}]", "", text.replace(r"\width>\linewidth", ""))
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    environments = re.findall(r"\\begin\{(\w+)\}", text)
    assert environments[1::2] == ["tabular"] * (len(environments) // 2)
    assert set(environments[::2]) <= {"table", "sidewaystable"}
    assert text.count(r"\begin{") == text.count(r"\end{")
    assert all(character.isascii() or character.isalpha() for character in text)
    outside_math = re.sub(r"\$[^$]*\$", "", bare)
    assert not set("_^#~<>|") & set(outside_math)
    for alignment, body in re.findall(r"\\begin\{tabular\}\{@\{\}([lr]+)@\{\}\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert rows
        assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {len(alignment) - 1}


@settings(max_examples=40)
@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])), min_size=1, max_size=3))
def test_no_text_breaks_a_table(cells: list[str]) -> None:
    grid = Grid(cells[0], tuple(f"<{cell}" for cell in cells), ((tuple(cells),),))
    check_latex(latex_table(grid))
    *_, heading, rule, line = markdown_table(grid).splitlines()
    assert len({len(re.findall(r"(?<!\\)\|", each)) for each in (heading, rule, line)}) == 1


WRITTEN_AS_CODES = st.sampled_from([":100:", ":on:", "[red]", "[/]", "[link=x]", "1", "'q'", "https://x.y", "|", "é"])
"""Emoji, markup and what rich would highlight."""


@settings(max_examples=40)
@given(st.lists(WRITTEN_AS_CODES, min_size=1, max_size=4).map(" ".join))
def test_printing_changes_no_text(text: str) -> None:
    with redirect_stdout(io.StringIO()) as printed:
        print_text(f"{text}\t{text}", console())
        print_grid(Grid(text, (f"<{text}",), (((text,),),)), console())
    line, *table = printed.getvalue().splitlines()
    assert line == f"{text}\t{text}"
    assert "\n".join(table).count(text) == 3


CONTROLS = st.sampled_from(
    ["\x1b[31m", "\x1b]52;c;eA==\x07", "\x9b2J", "\r", "\x08", "\ud800", "\udce9", "\u2028", "\x00"]
)


@settings(max_examples=40)
@given(CONTROLS)
def test_texts_of_others_move_no_cursor(text: str) -> None:
    with redirect_stdout(io.StringIO()) as printed:
        print_text(f"a{text}Q", console())
        print_line(f"a{text}Q", console())
        print_grid(Grid(f"a{text}Q", (f"<a{text}Q",), (((f"a{text}Q",),),)), console())
    assert printed.getvalue().encode()
    assert printed.getvalue().count("Q") == 5  # none is cut off
    assert not any(ord(each) < 32 or each in "\x7f\x9b\u2028" for each in printed.getvalue().replace("\n", ""))


def test_what_latex_knows_by_name_is_named() -> None:
    assert latex_text("−0.1 ± ε < [x]") == r"$-$0.1 $\pm$ $\epsilon$ $<$ {[}x]"
    assert latex_text("données 東") == "données U+6771"


def test_the_papers_symbols_are_formulas_and_keys_are_not() -> None:
    assert latex_text("d_model, ε_ls") == r"$d_{\mathrm{model}}$, $\epsilon_{\mathrm{ls}}$"
    assert latex_text("model.d_ff of runs/d_k, ad_k") == r"model.d\_ff of runs/d\_k, ad\_k"


@pytest.mark.parametrize("rows", [(), ("base", "big")])
def test_latex_is_balanced_and_its_lines_have_the_columns_announced(
    make_run: Callable[..., Path], tmp_path: Path, rows: tuple[str, ...]
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    for row in rows:
        make_run(row)
    comparable = comparable_runs(read_results(runs), runs, scale=None, data=None, like=None)
    check_latex(FORMATS[".tex"](document(report_of(comparable, runs))))
