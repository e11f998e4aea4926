"""The ledger on the terminal: rows by seeds if there are several, and a line for each run that is not finished."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from text_tables import cells_of

from aiayn.config.command_schema import View
from aiayn.reports.status import print_status
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, RecordedBrackets, SplitScores, Status
from aiayn.system.output_format import Format, printed_as

MakeRecord = Callable[..., Record]
Show = Callable[..., list[list[str]]]


@pytest.fixture
def add(tmp_path: Path, make_record: MakeRecord, scores: dict[str, SplitScores]) -> Callable[..., None]:
    """Write the record of a run."""

    def write(row: str, seed: int, status: Status = Status.finished, *, scale: str = "nano", digits: str = "0") -> None:
        name = f"table3/{row}/{scale}-seed{seed}-{digits}"
        result: dict[str, object] = {"scores": scores, "steps": 1000}
        if status is not Status.finished:
            result = {"steps": 300, "message": f"it {status}"}
        make_record(experiment=f"table3/{row}", seed=seed, scale=scale, status=status, max_steps=1000, **result).write(
            tmp_path / name / "run.json"
        )

    return write


@pytest.fixture
def show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Show:
    """The tables' lines as cells, those of all other lines as one."""

    def call(view: View = View.auto) -> list[list[str]]:
        print_status(tmp_path, view)
        return cells_of(capsys.readouterr().out)

    return call


def test_rows_are_by_seeds_in_the_papers_order(add: Callable[..., None], show: Show) -> None:
    add("a_h1", 1)
    add("a_h1", 10, Status.failed)
    add("base", 1)
    add("base", 2, Status.interrupted)
    add("base", 2, digits="1")
    add("base", 1, scale="demo")
    lines = show()
    assert lines[:8] == [
        ["scale nano, data grammar: PPL / BLEU (dev) of finished runs"],
        ["experiment", "seed 1", "seed 2", "seed 10"],
        ["table3/base", "2.12 / 21.2", "1 finished, 1 interrupted", ""],
        ["table3/a_h1", "2.12 / 21.2", "", "failed at 300"],
        ["scale demo, data grammar: PPL / BLEU (dev) of finished runs"],
        ["experiment", "seed 1"],
        ["table3/base", "2.12 / 21.2"],
        ["run", "state", "steps", "trained", "left"],
    ]
    assert [line[0] for line in lines[8:]] == [
        "table3/a_h1/nano-seed10-0",
        "table3/base/nano-seed2-0",
        "4 finished, 1 failed, 1 interrupted",
        "table3/a_h1/nano-seed10-0: it failed",
        "table3/base/nano-seed2-0: it interrupted",
    ]


def test_trees_are_not_scored_by_bleu(
    make_record: MakeRecord, scores: dict[str, SplitScores], show: Show, tmp_path: Path
) -> None:
    brackets = RecordedBrackets(77.7, 78.0, 77.4, 40.0, None, 97.5, "prm:collins")
    trees = {split: dataclasses.replace(each, bleu=None, brackets=brackets) for split, each in scores.items()}
    for name, each in (("table3/base", scores), ("table4/wsj_only", trees)):
        record = make_record(experiment=name, seed=1, scale="nano", status=Status.finished, scores=each)
        record.write(tmp_path / name / "nano-seed1-0" / "run.json")
    heading, translated, parsed = show()[:3]
    cells = [dict(zip(heading, line, strict=True)) for line in (translated, parsed)]
    assert [each["BLEU (dev)"] for each in cells] == ["21.2", ""]
    assert [each["F1 (dev)"] for each in cells] == ["", "77.7"]


def test_without_seeds_there_is_a_line_for_each_run(add: Callable[..., None], show: Show) -> None:
    add("base", 1)
    add("a_h1", 1)
    add("base", 2, scale="demo")
    assert [line[0] for line in show()][0:2] == ["run", "table3/a_h1/nano-seed1-0"]
    assert show(View.rows)[-1] == ["3 finished"], "and nothing left to list"


def test_a_run_that_ended_early_says_why(make_record: MakeRecord, show: Show, tmp_path: Path) -> None:
    ended = "ended by optimization.patience=3 (val/ppl is lowest at step 200) after 500 of 1,000 steps"
    record = make_record(steps=500, max_steps=1000, message=ended)
    record.write(tmp_path / "table3/base/nano-seed1-0/run.json")
    heading, line, *rest = show()
    assert dict(zip(heading, line, strict=True))["steps"] == "500 of 1,000"
    assert rest == [["1 finished"], [f"table3/base/nano-seed1-0: {ended}"]]


def test_variants_of_a_row_are_named_by_their_differences(
    make_run: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    for factor in ("0.5", "1.0"):
        make_run("base", f"optimization.learning_rate_factor={factor}", "model.dropout=0.2")
    make_run("a_h1")
    lines = show()
    assert lines[0] == ["run", "state", "steps", "PPL (dev)", "BLEU (dev)", "trained", "left"]
    differences = {line[0].partition(", ")[2] for line in lines if line[0].startswith("runs/table3/base")}
    assert differences == {"learning_rate_factor 0.5", "learning_rate_factor 1.0"}
    make_run("base", "optimization.learning_rate_factor=0.5", "model.dropout=0.2", seed=2)
    assert [line[0] for line in show(View.rows)[2:5]] == [
        "table3/base, learning_rate_factor 0.5",
        "table3/base, learning_rate_factor 1.0",
        "table3/a_h1",
    ]


def test_another_system_is_no_seed_of_its_row(
    make_run: Callable[..., Path], show: Show, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (1, 2):
        make_run("base", seed=seed)
    make_run("base", "model.dropout=0.3", seed=3)
    heading, *lines = show()[1:4]
    assert heading[0:4] == ["experiment", "seed 1", "seed 2", "seed 3"]
    assert [(line[0], [bool(cell) for cell in line[1:]]) for line in lines] == [
        ("table3/base, dropout 0.1", [True, True, False]),
        ("table3/base, dropout 0.3", [False, False, True]),
    ]
    with printed_as(Format.json):
        print_status(tmp_path, View.auto)
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert {run["seed"]: run["settings"] for run in runs}[3] == "dropout 0.3"


def test_a_variant_is_named_by_the_settings_that_it_has(make_run: Callable[..., Path], show: Show) -> None:
    make_run("base")
    make_run("base", "model=recurrent")
    _, *lines = show()
    variants = [line[0].partition(", ")[2] for line in lines if line[0].startswith("runs/table3/base")]
    assert len(set(variants)) == 2
    assert any({"kind recurrent", "cell gru"} <= {*variant.split(", ")} for variant in variants)
    assert "None" not in " ".join(variants)


@pytest.mark.parametrize(
    ("metric", "column"),
    [("val/bleu", "val BLEU"), ("val/bleu_none", "val BLEU_none"), ("val/f1", "val F1")],
)
def test_a_run_that_trains_shows_its_latest_metrics(
    metric: str, column: str, add: Callable[..., None], show: Show, tmp_path: Path
) -> None:
    add("base", 1, Status.running)
    directory = RunDirectory(tmp_path / "table3/base/nano-seed1-0")
    lines = [
        {"step": 400, "train/tokens_per_second": 1234.5, "train/seconds": 40.0},
        {"step": 400, "val/ppl": 12.345, metric: 20.04},
        {"step": 500, "train/tokens_per_second": None, "train/seconds": 50.0},
    ]
    directory.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with directory.locked():
        heading, row, *_ = show()
    assert dict(zip(heading, row, strict=True)) == {
        "run": "table3/base/nano-seed1-0",
        "state": "running",
        "steps": "500 of 1,000",
        "val PPL": "12.35",
        column: "20.0",
        "tok/s": "1,234",
        "trained": "50 s",
        "left": "50 s",
    }
