"""Each run's difference to base in its summary, by the real W&B client with a recording server."""

import json
from pathlib import Path
from typing import Any

import pytest
import wandb
from commands import Say, Train
from observers import wandb_processes
from run_files import runs_below
from studies import STUDY
from wandb_server import RecordingServer

from aiayn.runs.record import read_record

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("logged_in")]

SHORT = ("optimization.max_steps=6",)
NUMBERS = {f"vs_base/{name}{end}" for name in ("ppl", "bleu") for end in ("", "_low", "_high")}
COUNTS = {"vs_base/seeds", "vs_base/base_seeds"}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wandb.Api, "_HTTP_TIMEOUT", 5)


def summaries(server: RecordingServer) -> dict[tuple[str, int], dict[str, Any]]:
    """What runs say of base, by row and seed."""
    found = {}
    for path in runs_below(Path("runs")):
        record = read_record(path / "run.json")
        if record.run_id in server.runs:
            summary = server.runs[record.run_id].summary
            about_base = {key: value for key, value in summary.items() if key.startswith("vs_base/")}
            found[record.experiment.removeprefix("table3/"), record.seed] = about_base
    return found


def test_the_difference_comes_with_seeds_and_the_verdict_with_the_last(
    train: Train, say: Say, server: RecordingServer
) -> None:
    swept = ("experiment=table3/base,table3/d_drop0", "seed=1,2")
    assert train("-m", *swept, *SHORT, tracker="wandb") == 0
    found = summaries(server)
    assert found["base", 1] == found["base", 2] == {}
    assert found["d_drop0", 1].keys() == NUMBERS | COUNTS, "one of two planned seeds: no verdict"
    assert found["d_drop0", 2].keys() == NUMBERS | COUNTS | {"vs_base/verdict"}
    assert [found["d_drop0", seed]["vs_base/seeds"] for seed in (1, 2)] == [1, 2]
    assert say("report", "table3", "output=table.json", "wandb=true").code == 0
    row = next(row for row in json.loads(Path("table.json").read_text())["rows"] if row["row"] == "d_drop0")
    after = summaries(server)
    assert after["d_drop0", 1] == after["d_drop0", 2] == found["d_drop0", 2]
    for name in ("ppl", "bleu"):
        for end in ("", "_low", "_high"):
            assert after["d_drop0", 1][f"vs_base/{name}{end}"] == row[f"{name}_difference{end}"]
    assert after["base", 1] == {}
    assert not wandb_processes()


def test_a_variation_of_base_is_compared_with_base(train: Train, server: RecordingServer) -> None:
    assert train(*SHORT, tracker="wandb") == 0
    assert train(*SHORT, "model.dropout=0.3", tracker="wandb") == 0
    *_, (_, variation) = server.runs.items()
    assert variation.summary["vs_base/seeds"] == variation.summary["vs_base/base_seeds"] == 1
    assert "vs_base/ppl" in variation.summary
    assert "vs_base/ppl_low" not in variation.summary, "with one seed of each no interval is known"
    assert "vs_base/verdict" not in variation.summary, "nothing was planned"


def test_a_study_is_compared_with_its_own_base_at_its_end(train: Train, say: Say, server: RecordingServer) -> None:
    Path("my_conf/sweeps").mkdir(parents=True)
    Path("my_conf/sweeps/mine.yaml").write_text(STUDY.replace("{base: 2, others: 1}", "{others: 1}"))
    words = ("--config-dir", "my_conf", "sweeps=mine", "hydra.sweeper.stage=runs")
    assert train(*words, *SHORT, tracker="wandb") == 0
    base, rotary = server.runs.values()
    assert not [key for run in (base, rotary) for key in run.summary if key.startswith("vs_base/")]
    said = say("report", "hypotheses", "study=mine", "wandb=true")
    assert "of 1 run written" in said.err, said.err
    assert rotary.summary["vs_base/seeds"] == rotary.summary["vs_base/base_seeds"] == 1
    assert "vs_base/ppl" in rotary.summary
    assert not [key for key in base.summary if key.startswith("vs_base/")]


def test_what_the_report_cannot_write_is_told_in_one_line(
    train: Train, say: Say, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train("experiment=table3/base", *SHORT, tracker="wandb") == 0
    assert train("experiment=table3/d_drop0", *SHORT, "logger.mode=offline", tracker="wandb") == 0
    assert train("experiment=table3/d_drop02", *SHORT, "logger=none") == 0
    line = say("report", "table3", "wandb=true").err.splitlines()
    assert len(line) == 1
    assert "of 0 runs written; 1 run not on " in line[0]
    assert "aiayn sync" in line[0]
    assert "1 run not logged to W&B" in line[0]
    assert say("sync").code == 0
    assert "of 1 run written" in say("report", "table3", "wandb=true").err
    assert "vs_base/ppl" in summaries(server)["d_drop0", 1]
    server.fails_from = "Run"
    failed = say("report", "table3", "wandb=true")
    assert (failed.code, len(failed.err.splitlines())) == (1, 1)
    monkeypatch.delenv("WANDB_API_KEY")
    wandb.teardown()
    assert say("report", "table3", "wandb=true").refuses_by("wandb=true: not logged in to W&B")
    assert say("report", "table2", "wandb=true").refuses_by("wandb=true: is for report hypotheses, table3")
