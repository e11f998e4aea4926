"""An offline W&B run contains the data of a dashboard, read back with W&B's own command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import signal_at
from wandb_files import kept_records, kept_summary

from aiayn.runs.record import read_record

pytestmark = pytest.mark.slow

Train = Callable[..., int]
Find = Callable[[], Path]


def records(run: Path) -> list[dict[str, Any]]:
    """All records of the newest offline run in a run directory."""
    return kept_records(max((run / "wandb").glob("offline-run-*")))


def of(kind: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row[kind] for row in rows if row["type"] == kind]


def summary(run: Path) -> dict[str, Any]:
    return kept_summary(max((run / "wandb").glob("offline-run-*")))


def test_a_finished_run(train: Train, only_run: Find) -> None:
    assert train("experiment=table3/a_h4", "model.num_heads=4", tracker="wandb") == 0
    run = only_run()
    record = read_record(run / "run.json")
    rows = records(run)
    (described,) = of("run", rows)
    assert described["run_id"] == record.run_id
    assert described["run_group"] == "table3"
    assert described["job_type"].startswith("a_h4 ")
    assert described["display_name"] == f"{described['job_type']} seed 1"
    assert {"paper", "table3", "a_h4", "demo", "grammar", "variation"} == set(described["tags"])
    history = [row["item"] for row in of("history", rows)]
    assert [row["trainer/global_step"] for row in history if "train/loss" in row] == list(range(1, 13))
    for key in ("val/ppl", "val/bleu"):
        assert [row["trainer/global_step"] for row in history if key in row] == [6, 12]
    assert described["notes"].startswith("h=4, d_k=d_v=4 (paper: h=4, d_k=d_v=128); here ")
    (ended,) = of("exit", rows)
    assert ended.get("exit_code", 0) == 0
    content = summary(run)
    assert content["config"]["model"]["num_heads"] == 4
    assert content["config"]["optimization"]["max_steps"] == 12
    text = json.dumps(content)
    for number in (record.scores["dev"].quality.score, record.scores["test"].ppl):
        assert f"{number}"[:8] in text
    assert str(record.parameters) in text
    assert record.cost is not None
    assert "cost/device_hours" in text
    assert f"{record.cost.total.flops}"[:8] in text
    (table,) = (run / "wandb").glob("offline-run-*/files/media/table/samples_*.table.json")
    assert table.name in text


def test_the_runs_of_a_sweep_are_a_group_of_their_own(
    train: Train, only_run: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIAYN_SWEEP", "seed=1,2")  # set by the command line for `-m seed=1,2`
    assert train("optimization.max_steps=1", tracker="wandb") == 0
    (described,) = of("run", records(only_run()))
    assert described["run_group"] == "seed=1,2"


def test_a_failed_run_is_shown_as_failed(train: Train, only_run: Find) -> None:
    assert train("optimization.divergence_factor=0.5", tracker="wandb") == 1
    (ended,) = of("exit", records(only_run()))
    assert ended["exit_code"] == 1


def test_a_resumed_run_continues_the_same_wandb_run(train: Train, only_run: Find) -> None:
    assert train(signal_at(4), tracker="wandb") == 1
    (first,) = of("run", records(only_run()))
    assert train(tracker="wandb") == 0
    rows = records(only_run())
    (second,) = of("run", rows)
    assert second["run_id"] == first["run_id"]
    steps = [row["item"]["trainer/global_step"] for row in of("history", rows) if "train/loss" in row["item"]]
    assert steps[0] == 6
