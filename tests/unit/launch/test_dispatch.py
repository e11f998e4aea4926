"""A run in a process of its own: its environment, and its record when it or its command is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tiny import TINY

from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.errors import RunFailedError
from aiayn.launch.dispatch import launch_run
from aiayn.runs.directory import HeldDirectoryError, RunDirectory
from aiayn.runs.record import Status, read_record

ENDLESS = (
    *TINY,
    "optimization.max_steps=100000",
    "optimization.validation_interval=50000",
    "trainer.accelerator=cpu",
    "logger=none",
)


def await_worker(folder: Path, *, seconds: float = 60.0) -> Path:
    """The run directory of the first run in a folder, once it has logged a step."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for metrics in folder.glob("runs/*/*/*/metrics.jsonl"):
            if metrics.stat().st_size:
                return metrics.parent
        time.sleep(0.1)
    raise TimeoutError


def workers(run: Path) -> list[int]:
    """Ids of the processes that have this run's folder among their words."""
    found = subprocess.run(["pgrep", "-f", f"aiayn.launch.worker {run}"], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def kill_workers(run: Path) -> list[int]:
    """Kill the workers of a run and return their process ids."""
    left = workers(run)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return left


@pytest.mark.slow
def test_a_killed_worker_fails_its_run_and_unlocks_the_directory(tmp_path: Path) -> None:
    paths = (f"paths.runs={tmp_path / 'runs'}", f"paths.cache={tmp_path / 'cache'}")
    config = to_dataclass(compose_command("train", [*ENDLESS, *paths]), TrainConfig)
    directory = RunDirectory(Path(config.paths.runs) / config.identity.name)
    killer = threading.Thread(target=lambda: kill_workers(await_worker(tmp_path)))
    killer.start()
    with pytest.raises(RunFailedError) as failure:
        launch_run(config, command="aiayn train", fresh_process=True)
    killer.join()
    message = str(failure.value)
    assert str(directory.path) in message
    assert "killed by SIGKILL" in message
    assert "\n" not in message
    record = read_record(directory.record)
    assert record.status is Status.failed, "written by the command, since a killed worker cannot"
    assert record.message is not None
    assert record.message in message
    with directory.locked():
        assert directory.config.is_file()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], tuple[subprocess.Popen[bytes], Path]]]:
    """Start a multirun of one long job; the process of the command, and the folder of its run."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> tuple[subprocess.Popen[bytes], Path]:
        command = [sys.executable, "-m", "aiayn", "train", "-m", *ENDLESS, "paths.runs=runs", "paths.cache=cache"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with (tmp_path / "said").open("wb") as said:
            started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=said, stderr=said))
        return started[0], await_worker(tmp_path)

    yield start
    for parent in started:
        parent.kill()
        parent.wait()
    for metrics in tmp_path.glob("runs/*/*/*/metrics.jsonl"):
        kill_workers(metrics.parent)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_command_stops_its_worker_with_a_checkpoint(
    start: Callable[[], tuple[subprocess.Popen[bytes], Path]], tmp_path: Path, number: signal.Signals
) -> None:
    parent, run = start()
    parent.send_signal(number)
    assert parent.wait(timeout=60) == 1
    assert workers(run) == []
    assert "Traceback" not in (tmp_path / "said").read_text()
    record = read_record(run / "run.json")
    assert record.status is Status.interrupted
    assert record.steps in RunDirectory(run).steps()
    name = "Ctrl-C" if number is signal.SIGINT else "SIGTERM"
    assert str(record.message).startswith(f"stopped by {name} after step {record.steps} of ")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_a_worker_ends_with_its_command(
    start: Callable[[], tuple[subprocess.Popen[bytes], Path]], number: signal.Signals
) -> None:
    parent, run = start()
    (worker,) = workers(run)
    os.kill(worker, signal.SIGSTOP)  # as one that takes long over its step
    parent.send_signal(number)
    if number is signal.SIGKILL:
        parent.wait(timeout=60)
        with pytest.raises(HeldDirectoryError), RunDirectory(run).locked():
            pass
    os.kill(worker, signal.SIGCONT)
    parent.wait(timeout=60)
    end = time.monotonic() + 10
    while workers(run) and time.monotonic() < end:
        time.sleep(0.2)
    assert workers(run) == []


SCONTROL = """#!/bin/sh
echo "$@" >> asked
echo JobId=12 JobState=RUNNING Requeue=1 Restarts=0 BatchFlag=1 PreemptTime=None
"""


@pytest.mark.long
def test_a_job_of_slurm_with_runs_below_the_home_folder_is_requeued(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "scontrol"
    program.write_text(SCONTROL)
    program.chmod(0o755)
    slurm = {"SLURM_JOB_ID": "12", "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "aiayn", "train", *ENDLESS, "paths.runs='~/runs'", "paths.cache=cache"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HOME": str(tmp_path), **slurm}
    job = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        await_worker(tmp_path)
        job.send_signal(signal.SIGUSR1)
        _, said = job.communicate(timeout=60)
    finally:
        job.kill()
        job.wait()
    assert "requeue 12" in (tmp_path / "asked").read_text().splitlines(), said
