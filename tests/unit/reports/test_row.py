"""A run stands beside the paper's row where there is one, and every number comes from record and paper."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from aiayn.paper.table3 import load_table3
from aiayn.reports.numbers import duration, millions
from aiayn.reports.row import footer, paper_cells, paper_row, print_row, print_scores, row_table
from aiayn.runs.record import Record, SplitScores, Status

MakeRecord = Callable[..., Record]
Scores = dict[str, SplitScores]
ROWS = load_table3().rows


def cells(table: Table) -> list[list[str]]:
    """The table row by row."""
    return [list(row) for row in zip(*(map(str, column.cells) for column in table.columns), strict=True)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_each_experiment_of_the_table_has_the_papers_row(row: object) -> None:
    (row_id,) = (each.id for each in ROWS if each is row)
    assert paper_row(f"table3/{row_id}") is row


@pytest.mark.parametrize("experiment", ["mine", "table3", "table3/", "table3/mine", "table4/base", "base", ""])
def test_ones_own_experiments_have_none(experiment: str) -> None:
    assert paper_row(experiment) is None


@pytest.mark.parametrize("row_id", [row.id for row in ROWS])
def test_the_papers_cells_are_as_printed_and_a_blank_one_is_bases_in_brackets(row_id: str) -> None:
    row, base = load_table3().row(row_id), load_table3().row("base")
    ppl, bleu, parameters, steps = paper_cells(row)
    assert (ppl, bleu) == (str(row.ppl), str(row.bleu))
    assert parameters == (f"{row.parameters}M" if row.parameters.printed else f"({base.parameters}M)")
    assert steps == ("300,000" if row_id == "big" else "100,000")


def test_paper_and_run_stand_one_above_the_other(make_record: MakeRecord, scores: Scores) -> None:
    paper, own = cells(row_table(make_record(experiment="table3/a_h1", scores=scores)))
    assert paper == ["paper, newstest2013", *paper_cells(load_table3().row("a_h1"))]
    assert own == [
        "this run, grammar",
        f"{scores['dev'].ppl:.2f}",
        f"{scores['dev'].quality.score:.1f}",
        "1.2M",
        "12,345",
    ]


def test_what_a_run_changes_in_its_row_is_said(make_record: MakeRecord, scores: Scores) -> None:
    for difference, row in (("dropout=0.3", "table3/base dropout=0.3"), ("", "table3/base")):
        assert str(row_table(make_record(scores=scores, difference=difference)).title).startswith(f"{row}, scale ")


def test_an_average_is_told_from_single_weights(make_record: MakeRecord, scores: Scores) -> None:
    averaged = {split: replace(result, averaged_steps=(4, 8, 1200)) for split, result in scores.items()}
    assert "weights: the mean of 3 checkpoints, of steps 4 to 1,200\n" in footer(make_record(scores=averaged))
    assert "mean" not in footer(make_record(scores=scores))
    assert replace(averaged["dev"], checkpoint_step=1200).checkpoint == "1,200, mean of 3"
    assert scores["dev"].checkpoint == "12"
    assert replace(scores["dev"], engine="ensemble2-0a1b2c3d").origin == "12, ensemble2-0a1b2c3d"


def test_bleu_of_words_given_is_not_called_bleu(make_record: MakeRecord, scores: Scores) -> None:
    words = {
        split: replace(result, bleu=replace(result.quality, signature="nrefs:1|case:mixed|tok:none|smooth:exp"))
        for split, result in scores.items()
    }
    record = make_record(scores=words)
    assert "BLEU_none (dev)" in [str(column.header) for column in row_table(record).columns]
    assert footer(record).count("BLEU_none") == 2
    assert "BLEU_none" not in footer(make_record(scores=scores))


def test_without_a_paper_row_the_run_stands_alone(make_record: MakeRecord, scores: Scores) -> None:
    assert [row[0] for row in cells(row_table(make_record(experiment="mine", scores=scores)))] == ["this run, grammar"]


def test_the_footer_has_the_test_scores_and_the_signature(make_record: MakeRecord, scores: Scores) -> None:
    record = make_record(scores=scores, seconds=3723.4, tokens=9_876_543, tokens_per_second=1234.5)
    test, bleu, comparability, training = footer(record).splitlines()
    assert "no value of ours compares" in comparability
    assert f"PPL {scores['test'].ppl:.2f}, BLEU {scores['test'].quality.score:.1f}" in test
    assert bleu == f"BLEU: {scores['dev'].quality.signature}"
    assert "9,876,543 tokens" in training
    assert "tokens/s" in training
    record = make_record(scores={"dev": scores["dev"]})
    assert len(footer(record).splitlines()) == 3
    assert "tokens/s" not in footer(record)


@pytest.mark.parametrize("status", [Status.running, Status.failed, Status.interrupted, Status.finished])
def test_a_run_without_scores_is_one_line(
    make_record: MakeRecord, status: Status, capsys: pytest.CaptureFixture[str]
) -> None:
    print_row(make_record(status=status), Path("runs/here"))
    assert capsys.readouterr().out == f"table3/base: {status.value}; runs/here\n"


def test_a_finished_run_is_shown_whole(
    make_record: MakeRecord, scores: Scores, capsys: pytest.CaptureFixture[str]
) -> None:
    record = make_record(scores=scores)
    print_row(record, Path("runs/here"))
    shown = capsys.readouterr().out
    assert "table3/base, scale demo, seed 7, data grammar" in shown
    assert footer(record) in shown
    assert shown.endswith("run: runs/here\n")


@pytest.mark.parametrize("name", ["[bold]", "[en-de]", "[/]"])
def test_brackets_in_names_are_shown(
    make_record: MakeRecord, scores: Scores, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_row(make_record(scores=scores, data=name), Path(f"runs/{name}"))
    shown = capsys.readouterr().out
    assert f"data {name}" in shown
    assert f"run: runs/{name}\n" in shown


def test_an_evaluation_names_its_files_below_the_run(scores: Scores, capsys: pytest.CaptureFixture[str]) -> None:
    print_scores(scores, run="runs/here")
    shown = capsys.readouterr().out
    for split, result in scores.items():
        (line,) = (line for line in shown.splitlines() if f"│ {split} " in line)
        assert [cell.strip() for cell in line.strip("│").split("│")][1:3] == [
            f"{result.ppl:.2f}",
            f"{result.quality.score:.2f}",
        ]
        assert f"{split}: runs/here/{result.hypotheses}\n" in shown


@given(st.integers(0, 10**6), st.floats(0.0, 0.4))
def test_a_duration_reads_back(seconds: int, more: float) -> None:
    units = {"h": 3600, "min": 60, "s": 1}
    words = duration(seconds + more).split()
    assert sum(int(count) * units[unit] for count, unit in zip(words[::2], words[1::2], strict=True)) == seconds
    assert all(int(count) < 60 for count, unit in zip(words[::2], words[1::2], strict=True) if unit != "h")


@given(st.integers(0, 10**12))
def test_millions_have_one_decimal(count: int) -> None:
    shown = millions(count)
    assert shown.endswith("M")
    assert abs(float(shown[:-1]) * 1e6 - count) <= 0.0501e6
    assert len(shown.split(".")[1]) == 2


def test_an_unknown_count_is_blank() -> None:
    assert millions(None) == ""
