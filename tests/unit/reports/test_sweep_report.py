"""The table of a sweep has a line for every job."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from text_tables import cells_of

from aiayn.evaluation.score import Score
from aiayn.reports.sweep import print_sweep, progress_in_words
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import SweptJob, read_entry
from aiayn.runs.record import Record, SplitScores, Status

MakeRecord = Callable[..., Record]


def a_job(folder: Path, name: str, *overrides: str, record: Record | None = None) -> SweptJob:
    directory = RunDirectory(folder / name)
    if record is not None:
        record.write(directory.record)
    return SweptJob(f"table3/{name}", 3, ("scale=nano", f"experiment=table3/{name}", *overrides), directory)


def cells(out: str) -> list[list[str]]:
    *table, _counts = cells_of(out)
    return table


def test_every_job_has_a_line_from_its_record(
    tmp_path: Path, make_record: MakeRecord, scores: dict[str, SplitScores], capsys: pytest.CaptureFixture[str]
) -> None:
    done = a_job(tmp_path, "base", record=make_record(scores=scores, max_steps=12_345))
    failed = a_job(tmp_path, "big", record=make_record(status=Status.failed, steps=7, max_steps=1000))
    print_sweep([done, failed, a_job(tmp_path, "never")])
    out = capsys.readouterr().out
    dev = scores["dev"]
    assert cells(out) == [
        ["experiment", "seed", "state", "steps", "PPL (dev)", "BLEU (dev)"],
        ["table3/base", "3", "finished", "12,345", f"{dev.ppl:.2f}", f"{dev.quality.score:.1f}"],
        ["table3/big", "3", "failed", "7 of 1,000", "", ""],
        ["table3/never", "3", "refused", "", "", ""],
    ]
    assert out.endswith("\n1 finished, 1 failed, 1 refused\n")


@pytest.mark.parametrize("metric", ["val/bleu", "val/bleu_none", "val/f1"])
def test_a_running_job_has_every_score_of_a_validation_in_its_line(
    metric: str, tmp_path: Path, make_record: MakeRecord
) -> None:
    record = make_record(status=Status.running, steps=400, max_steps=1000, hardware={"threads": 1})
    directory = a_job(tmp_path, "base", record=record).directory
    directory.metrics.write_text(json.dumps({"step": 400, "train/seconds": 40, "val/ppl": 12.5, metric: 20.25}) + "\n")
    with directory.locked():
        line = progress_in_words(read_entry(directory))
    assert line == f"running  step 400 of 1,000  val ppl 12.5  {metric.replace('/', ' ')} 20.25  1 min 00 s left"


def test_what_else_differs_has_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_sweep([a_job(tmp_path, "base", f"model.d_ff={width}", "seed=3") for width in (8, 16)])
    assert [line[2] for line in cells(capsys.readouterr().out)] == ["override", "model.d_ff=8", "model.d_ff=16"]


def test_bleu_of_two_definitions_shares_no_column(
    tmp_path: Path, make_record: MakeRecord, scores: dict[str, SplitScores], capsys: pytest.CaptureFixture[str]
) -> None:
    words = {**scores, "dev": dataclasses.replace(scores["dev"], bleu=Score(33.3, "nrefs:1|tok:none"))}
    records = {"base": make_record(scores=scores), "big": make_record(scores=words)}
    print_sweep([a_job(tmp_path, name, record=record) for name, record in records.items()])
    heading, base, big = cells(capsys.readouterr().out)
    assert heading[-2:] == ["BLEU (dev)", "BLEU_none (dev)"]
    assert (base[-1], big[-2:]) == ("", ["", "33.3"])
