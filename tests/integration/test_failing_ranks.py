"""One process of a group that fails takes the others with it within seconds, and is named."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aiayn.runs.record import Status, read_record

pytestmark = [pytest.mark.long, pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")]

CommandLine = Callable[..., subprocess.CompletedProcess[str]]
Find = Callable[[], Path]


def failing(callback: str, arguments: str = "") -> tuple[str, ...]:
    """Words of a run of two processes, one of which fails before its fifth micro-batch."""
    return ("trainer.devices=2", f"+callbacks.failing={{_target_: observers.{callback}, rank: 1, batch: 4{arguments}}}")


def processes_of(run: Path) -> list[str]:
    """The command lines that name a run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(run) in words and int(process.name) != os.getpid():
            found.append(words)
    return found


def assert_reported(said: subprocess.CompletedProcess[str], run: Path, message: str) -> None:
    """One line, the same in the record; long before a rank would tire of waiting (launch.timeout_seconds)."""
    assert said.returncode == 1, said.stderr
    assert "Traceback" not in said.stderr
    record = read_record(run / "run.json")
    assert record.status is Status.failed
    assert str(record.message).startswith(message)
    assert f"aiayn: {record.message}" in said.stderr.splitlines()
    assert processes_of(run) == []
    assert time.time() - (run / "metrics.jsonl").stat().st_mtime < 120


def test_a_rank_whose_memory_does_not_suffice_is_named(command_line: CommandLine, only_run: Find) -> None:
    said = command_line(*failing("ExhaustMemoryAt"))
    assert_reported(said, only_run(), "rank 1: memory does not suffice: lower optimization.max_tokens_per_device")


def test_a_rank_that_the_kernel_kills_is_named_and_so_is_the_likely_reason(
    command_line: CommandLine, only_run: Find
) -> None:
    said = command_line(*failing("SignalRankAt", f", number: {signal.SIGKILL:d}"))
    assert_reported(said, only_run(), "rank 1 was killed by SIGKILL")
    assert "memory" in str(read_record(only_run() / "run.json").message)

    again = command_line("trainer.devices=2")
    assert again.returncode == 0, again.stderr
    assert read_record(only_run() / "run.json").status is Status.finished


def test_a_rank_that_comes_when_its_group_is_gone_ends_at_once(trained_run: Path, tmp_path: Path) -> None:
    """Its supervisor was killed while it loaded its libraries: nobody has its number, nobody would end it."""
    gone = {"AIAYN_GROUP": str(tmp_path / "gone"), "AIAYN_STORE": str(tmp_path / "gone" / "ranks")}
    rank = {"TORCHELASTIC_RUN_ID": "0", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    worker = [sys.executable, "-m", "aiayn.launch.worker", str(trained_run), "aiayn train"]
    before = (trained_run / "run.json").read_bytes()
    said = subprocess.run(worker, env={**os.environ, **gone, **rank}, capture_output=True, timeout=120, check=False)
    assert (said.returncode, said.stderr) == (1, b"")
    assert (trained_run / "run.json").read_bytes() == before


def test_a_rank_that_hangs_is_named(command_line: CommandLine, only_run: Find) -> None:
    said = command_line(*failing("SignalRankAt", f", number: {signal.SIGSTOP:d}"), "launch.timeout_seconds=30")
    assert_reported(said, only_run(), "rank 1 hangs: lost contact with another rank (launch.timeout_seconds=30)")
