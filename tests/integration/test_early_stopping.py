"""A run with patience ends where its perplexity no longer falls, wherever it is stopped before, and is a result."""

import json
import signal
from pathlib import Path

import pytest
from commands import CommandLine, Finished, Train, signal_at
from run_files import assert_same_end, metrics, only_run

from aiayn.commands.front_end import main
from aiayn.runs.record import Status, read_record

WORSE = (
    "optimization.learning_rate_factor=7",
    "optimization.warmup_steps=4",
    "optimization.divergence_factor=1000",
    "optimization.validation_interval=1",
)
"""Steps so large that perplexity soon rises; the checkpoints of every third step come before their validations."""

STANDS_STILL = ("optimization.learning_rate_factor=1e-30", "optimization.validation_interval=2")
"""No weight moves: no validation after the first is better."""

PATIENCE = 3


def perplexities(run: Path) -> dict[int, float]:
    return {row["step"]: row["val/ppl"] for row in metrics(run) if "val/ppl" in row}


@pytest.fixture(scope="module")
def undisturbed(finished: Finished) -> Path:
    return finished(*WORSE, f"optimization.patience={PATIENCE}")


def test_a_run_ends_at_the_validation_that_exhausts_its_patience(undisturbed: Path, finished: Finished) -> None:
    without = perplexities(finished(*WORSE))
    values = list(without.values())
    expected = next(
        step
        for step in range(1 + PATIENCE, 12)
        if min(values[step - PATIENCE : step]) >= min(values[: step - PATIENCE])
    )
    record = read_record(undisturbed / "run.json")
    assert (record.status, record.steps, record.max_steps) == (Status.finished, expected, 12)
    assert perplexities(undisturbed) == dict(list(without.items())[:expected])
    best = min(without, key=lambda step: (without[step] if step <= expected else float("inf"), step))
    assert record.message == (
        f"ended by optimization.patience=3 (val/ppl is lowest at step {best}) after {expected} of 12 steps"
    )
    assert record.scores["dev"].checkpoint_step == expected
    assert record.config_hash != read_record(finished(*WORSE) / "run.json").config_hash


@pytest.mark.parametrize("batch", [2, pytest.param(1, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)])
def test_an_interrupted_run_ends_at_the_same_step(train: Train, undisturbed: Path, tmp_path: Path, batch: int) -> None:
    """The checkpoint of step 3, after batch 2, is older than the validation there."""
    command = (*WORSE, f"optimization.patience={PATIENCE}")
    assert train(*command, signal_at(batch)) == 1
    run = only_run(tmp_path / "runs")
    assert (run / "checkpoints" / f"step-{batch + 1:07d}.ckpt").is_file()
    assert train(*command) == 0
    assert_same_end(run, undisturbed)
    record = json.loads((run / "run.json").read_text())
    assert record["message"] == read_record(undisturbed / "run.json").message
    # As if it had been killed in its evaluation: it does not train on.
    (run / "run.json").write_text(json.dumps(record | {"status": "running", "message": None, "scores": {}}))
    assert train(*command) == 0
    assert_same_end(run, undisturbed)


@pytest.mark.long
def test_a_run_killed_in_a_validation_ends_at_the_same_step(
    command_line: CommandLine, undisturbed: Path, tmp_path: Path
) -> None:
    command = (*WORSE, f"optimization.patience={PATIENCE}")
    killed = command_line(*command, "+callbacks.disturber={_target_: observers.KillInValidation, step: 3}")
    assert killed.returncode == -signal.SIGKILL
    assert command_line(*command).returncode == 0
    assert_same_end(only_run(tmp_path / "runs"), undisturbed)


@pytest.mark.long
def test_two_ranks_end_together(train: Train, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = (*STANDS_STILL, "optimization.patience=2", "trainer.devices=2", "trainer.accelerator=cpu")
    assert train(*command, signal_at(3)) == 1  # in the last rank, where a validation is due
    assert train(*command) == 0
    run = only_run(tmp_path / "runs")
    record = read_record(run / "run.json")
    ended = "ended by optimization.patience=2 (val/ppl is lowest at step 2) after 6 of 12 steps"
    assert (record.status, record.steps, record.message) == (Status.finished, 6, ended)
    capfd.readouterr()
    assert main(["status", "paths.runs=runs"]) == 0
    shown = " ".join(capfd.readouterr().out.split())
    assert ended in shown
    assert "1 finished" in shown


def test_the_average_is_of_the_last_validated_weights(finished: Finished) -> None:
    """As published recipes take the mean of the last checkpoints that patience leaves."""
    averaging = ("experiment=positions/none", "averaging.checkpoints=2", "averaging.interval=2")
    run = finished(*STANDS_STILL, "optimization.patience=2", *averaging)
    assert {each.averaged_steps for each in read_record(run / "run.json").scores.values()} == {(4, 6)}
    assert sorted(path.name for path in run.glob("checkpoints/weights-*")) == [
        "weights-0000004.ckpt",
        "weights-0000006.ckpt",
    ]
