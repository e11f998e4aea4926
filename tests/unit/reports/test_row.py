"""A run beside the paper's row: every number comes from the record or the paper."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from aiayn.paper.tables import load_table3
from aiayn.reports.numbers import duration, millions
from aiayn.reports.row import footer, paper_cells, paper_row, print_row, print_scores, row_table
from aiayn.runs.record import Record, SplitScores, Status

MakeRecord = Callable[..., Record]
Scores = dict[str, SplitScores]


def cells(table: Table) -> list[list[str]]:
    return [list(row) for row in zip(*(map(str, column.cells) for column in table.columns), strict=True)]


def test_only_experiments_of_table_3_have_a_paper_row() -> None:
    for row in load_table3().rows:
        assert paper_row(f"table3/{row.id}") is row
    for experiment in ("mine", "table3", "table3/", "table3/mine", "table4/base", "base", ""):
        assert paper_row(experiment) is None


def test_the_papers_cells_are_as_printed_and_bases_in_brackets_if_blank() -> None:
    table = load_table3()
    assert paper_cells(table.row("base")) == ("4.92", "25.8", "65M", "100,000")
    assert paper_cells(table.row("a_h1")) == ("5.29", "24.9", "(65M)", "100,000")
    assert paper_cells(table.row("big")) == ("4.33", "26.4", "213M", "300,000")


def test_the_run_is_below_the_paper(make_record: MakeRecord, scores: Scores) -> None:
    paper, own = cells(row_table(make_record(experiment="table3/a_h1", scores=scores)))
    assert paper == ["paper, newstest2013", *paper_cells(load_table3().row("a_h1"))]
    dev = scores["dev"]
    assert own == ["this run, grammar", f"{dev.ppl:.2f}", f"{dev.quality.score:.1f}", "1.2M", "12,345"]
    assert [row[0] for row in cells(row_table(make_record(experiment="mine", scores=scores)))] == ["this run, grammar"]


def test_the_title_states_what_a_run_changes_in_its_row(make_record: MakeRecord, scores: Scores) -> None:
    for difference, row in (("dropout=0.3", "table3/base dropout=0.3"), ("", "table3/base")):
        assert str(row_table(make_record(scores=scores, difference=difference)).title).startswith(f"{row}, scale ")


def test_averaged_weights_are_named(make_record: MakeRecord, scores: Scores) -> None:
    averaged = {split: replace(result, averaged_steps=(4, 8, 1200)) for split, result in scores.items()}
    assert "weights: the mean of 3 checkpoints, of steps 4 to 1,200\n" in footer(make_record(scores=averaged))
    assert "mean" not in footer(make_record(scores=scores))
    assert replace(averaged["dev"], checkpoint_step=1200).checkpoint == "1,200, mean of 3"
    assert scores["dev"].checkpoint == "12"
    assert replace(scores["dev"], engine="ensemble2-0a1b2c3d").origin == "12, ensemble2-0a1b2c3d"


def test_bleu_of_text_split_before_has_its_own_name(make_record: MakeRecord, scores: Scores) -> None:
    words = {
        split: replace(result, bleu=replace(result.quality, signature="nrefs:1|case:mixed|tok:none|smooth:exp"))
        for split, result in scores.items()
    }
    record = make_record(scores=words)
    assert "BLEU_none (dev)" in [str(column.header) for column in row_table(record).columns]
    assert footer(record).count("BLEU_none") == 2
    assert "BLEU_none" not in footer(make_record(scores=scores))


def test_the_footer_has_the_test_scores_and_the_signature(make_record: MakeRecord, scores: Scores) -> None:
    record = make_record(scores=scores, seconds=3723.4, tokens=9_876_543, tokens_per_second=1234.5)
    test, bleu, comparability, training = footer(record).splitlines()
    assert "values compare only with equal data" in comparability
    assert f"PPL {scores['test'].ppl:.2f}, BLEU {scores['test'].quality.score:.1f}" in test
    assert bleu == f"BLEU: {scores['dev'].quality.signature}"
    assert training == "training: 1 h 02 min 03 s, 9,876,543 tokens, 1,234 tokens/s"
    record = make_record(scores={"dev": scores["dev"]})
    assert len(footer(record).splitlines()) == 3
    assert "tokens/s" not in footer(record)


@pytest.mark.parametrize("status", [Status.running, Status.failed, Status.interrupted, Status.finished])
def test_a_run_without_scores_is_one_line(
    make_record: MakeRecord, status: Status, capsys: pytest.CaptureFixture[str]
) -> None:
    print_row(make_record(status=status), Path("runs/here"))
    assert capsys.readouterr().out == f"table3/base: {status.value}; runs/here\n"


@pytest.mark.parametrize("name", ["here", "[bold]", "[en-de]", "[/]"])
def test_a_finished_run_is_printed_with_its_names_as_they_are(
    make_record: MakeRecord, scores: Scores, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = make_record(scores=scores, data=name)
    print_row(record, Path(f"runs/{name}"))
    shown = capsys.readouterr().out
    assert f"table3/base, scale demo, seed 7, data {name}" in shown
    assert footer(record) in shown
    assert shown.endswith(f"run: runs/{name}\n")


def test_an_evaluation_names_its_files_below_the_run(scores: Scores, capsys: pytest.CaptureFixture[str]) -> None:
    print_scores(scores, run="runs/here")
    shown = capsys.readouterr().out
    for split, result in scores.items():
        (line,) = (line for line in shown.splitlines() if f"│ {split} " in line)
        numbers = [cell.strip() for cell in line.strip("│").split("│")][1:3]
        assert numbers == [f"{result.ppl:.2f}", f"{result.quality.score:.2f}"]
        assert f"{split}: runs/here/{result.hypotheses}\n" in shown


@given(st.integers(0, 10**6), st.floats(0.0, 0.4))
def test_a_duration_reads_back(seconds: int, more: float) -> None:
    units = {"h": 3600, "min": 60, "s": 1}
    words = duration(seconds + more).split()
    assert sum(int(count) * units[unit] for count, unit in zip(words[::2], words[1::2], strict=True)) == seconds
    assert all(int(count) < 60 for count, unit in zip(words[::2], words[1::2], strict=True) if unit != "h")


def test_millions_have_one_decimal() -> None:
    assert [millions(count) for count in (None, 0, 65_049_999, 213_000_000)] == ["", "0.0M", "65.0M", "213.0M"]
