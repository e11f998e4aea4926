"""Multiruns start fresh processes, several devices start a group; the results are those of one process."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from commands import AIAYN, CommandLine, until

from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.long


def test_a_multirun_does_every_job_and_a_failing_one_stops_no_other(tmp_path: Path, command_line: CommandLine) -> None:
    swept = "optimization.divergence_factor=3.0,0.5,4.0"
    result = command_line("sweeps=seeds", "seed=1", swept, "optimization.max_steps=3")
    assert result.returncode == 1, result.stderr
    assert "diverged" in result.stderr
    assert "Traceback" not in result.stderr
    records = [read_record(path) for path in tmp_path.glob("runs/*/*/*/run.json")]
    assert sorted(record.status for record in records) == [Status.failed, Status.finished, Status.finished]
    assert result.stdout.count("this run") == 2
    assert result.stdout.endswith("\n2 finished, 1 failed\n")
    assert result.stderr.splitlines()[-1].startswith("aiayn: 1 of 3 jobs failed; ")

    before = {path: path.read_bytes() for path in tmp_path.glob("runs/*/*/*/run.json")}
    again = command_line("-m", "optimization.divergence_factor=3.0,4.0", "optimization.max_steps=3")
    assert again.returncode == 0, again.stderr
    assert {path: path.read_bytes() for path in before} == before, "finished runs are shown, not done again"


def test_ranks_exchange_no_constants_and_keep_one_copy_of_the_gradients(
    tmp_path: Path, command_line: CommandLine
) -> None:
    """The model's buffers are equal on all ranks; DDP would broadcast them before each step."""
    settings = tmp_path / "settings"
    recorder = f"+callbacks.recorder={{_target_: observers.DataParallelSettings, folder: {settings}}}"
    result = command_line("trainer.devices=2", "optimization.max_steps=1", recorder)
    assert result.returncode == 0, result.stderr
    found = [json.loads(path.read_text()) for path in settings.iterdir()]
    assert found == [{"broadcast_buffers": False, "gradient_as_bucket_view": True}] * 2


def test_a_signal_while_decoding_ends_the_run_as_interrupted(tmp_path: Path, tiny: tuple[str, ...]) -> None:
    command = [*AIAYN, "train", *tiny, "logger=none", "data.test_sentences=3000", "optimization.max_steps=1"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        until(lambda: list(tmp_path.glob("runs/*/*/*/evaluations/*/dev.sentences.jsonl")))
        run.send_signal(signal.SIGTERM)
        assert run.wait(timeout=30) == 1
    (record,) = tmp_path.glob("runs/*/*/*/run.json")
    assert read_record(record).status is Status.interrupted
