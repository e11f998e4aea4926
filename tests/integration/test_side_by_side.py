"""Concurrent jobs on one machine: each has its own share, and none outlives the command."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import pytest
from commands import AIAYN, SECONDS, until

from aiayn.config.compose import compose_command
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores to share out"
    ),
]

Sweep = subprocess.Popen[str]
Start = Callable[..., Sweep]

ENDLESS = ("optimization.max_steps=1000000", "optimization.validation_interval=1000000")


@pytest.fixture
def start(tmp_path: Path, tiny: tuple[str, ...]) -> Iterator[Start]:
    """Start a sweep on two cores, with leases of its own, as a shell starts a job; nothing of it outlives the test."""
    started: list[Sweep] = []
    (tmp_path / "tmp").mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    environment["TMPDIR"] = str(tmp_path / "tmp")

    def start(*words: str) -> Sweep:
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, sorted(cores)[:2])
        sweep = subprocess.Popen(
            [*AIAYN, "train", *tiny, "logger=none", "hydra/launcher=joblib", "-m", *words],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        os.sched_setaffinity(0, cores)
        started.append(sweep)
        return sweep

    yield start
    for process in processes_in(tmp_path):
        os.kill(process, signal.SIGKILL)
    for sweep in started:
        sweep.communicate()


def processes_in(folder: Path) -> dict[int, int]:
    """The parent of every process that stands in a folder, by its id."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if (process / "cwd").readlink() == folder:
                found[int(process.name)] = int(parent)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def runs_with_steps(folder: Path) -> list[RunDirectory]:
    return [RunDirectory(path.parent) for path in folder.glob("runs/*/*/*/metrics.jsonl") if path.stat().st_size]


def worker_of(run: RunDirectory) -> int:
    found = subprocess.run(["pgrep", "-f", f"worker {run.path}"], capture_output=True, text=True, check=True)
    return int(found.stdout)


def test_jobs_share_the_machine_and_a_failing_one_stops_no_other(
    start: Start, tmp_path: Path, tiny: tuple[str, ...]
) -> None:
    recorder = f"+callbacks.recorder={{_target_: observers.PlaceRecorder, path: {tmp_path / 'places'}}}"
    swept = ("optimization.divergence_factor=3.0,0.5,4.0,5.0", "model.num_heads=2,3")
    short = "optimization.max_steps=3"
    alike = compose_command("train", [*tiny, "logger=none", short, "optimization.divergence_factor=5.0"])
    held = RunDirectory(tmp_path / "runs" / alike.identity.name)
    with held.locked():
        sweep = start(recorder, short, *swept, "hydra.launcher.n_jobs=3")  # one more than there are cores
        assert sweep.stderr is not None
        before = []
        for line in sweep.stderr:
            before.append(line)
            if line.startswith("waiting for runs of other processes"):
                break
        assert str(held.path) in before[-1]
    out, err = sweep.communicate(timeout=SECONDS)
    err = "".join(before) + err
    assert sweep.returncode == 1, err
    assert "Traceback" not in err
    assert err.count("aiayn: model.num_heads=3 does not divide model.d_model=16") == 4
    assert err.count("diverged") == 1
    assert err.splitlines()[-1].startswith("aiayn: 5 of 8 jobs failed; ")
    assert out.endswith("\n3 finished, 1 failed, 4 refused\n")
    rows = [line for line in out.splitlines() if "optimization.divergence_factor=" in line]
    assert [row.split("divergence_factor=")[1][:3] for row in rows] == ["3.0", "0.5", "4.0", "5.0"] * 2

    places = [json.loads(line) for line in (tmp_path / "places").read_text().splitlines()]
    assert len(places) == 3
    for place in places:
        assert (len(place["cores"]), place["threads"], place["gpus"]) == (1, 1, "")
    for one, other in combinations(places, 2):
        together = max(one["from"], other["from"]) < min(one["to"], other["to"])
        assert not (together and set(one["cores"]) & set(other["cores"]))
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.name.startswith(".")] == []
    assert processes_in(tmp_path) == {}


def test_the_cores_of_a_killed_worker_are_leased_again(start: Start, tmp_path: Path) -> None:
    sweep = start("seed=1,2", *ENDLESS, "launch.cores_per_job=2", "hydra.launcher.n_jobs=2")
    assert sweep.stderr is not None
    assert any(line.startswith("waiting for a free core") for line in sweep.stderr)
    until(lambda: runs_with_steps(tmp_path))
    (killed,) = runs_with_steps(tmp_path)
    os.kill(worker_of(killed), signal.SIGKILL)
    until(lambda: len(runs_with_steps(tmp_path)) == 2)
    (other,) = (run for run in runs_with_steps(tmp_path) if run != killed)
    sweep.terminate()
    _, err = sweep.communicate(timeout=SECONDS)
    assert sweep.returncode == 1
    assert "aiayn: the worker was killed by SIGKILL: " in err
    assert f"see {killed.log}\n" in err
    assert read_record(killed.record).status is Status.failed
    assert "waiting for a free" not in err, "said once"
    assert read_record(other.record).status is Status.interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_jobs_end_with_the_command_and_leave_checkpoints(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    sweep = start("seed=1,2,3", *ENDLESS)
    until(lambda: len(runs_with_steps(tmp_path)) == 2)
    if number is signal.SIGKILL:
        sweep.kill()
    else:
        os.killpg(sweep.pid, number)  # as a terminal and `timeout` do it
    _, err = sweep.communicate(timeout=SECONDS)
    until(lambda: not processes_in(tmp_path), seconds=15 if number is signal.SIGKILL else 1)
    assert len(list(tmp_path.glob("runs/*/*/*/run.json"))) == 2, "the third was not begun"
    name = "Ctrl-C" if number is signal.SIGINT else "SIGTERM"  # of their parent to the jobs, if the command was killed
    for run in runs_with_steps(tmp_path):
        record = read_record(run.record)
        assert record.status is Status.interrupted
        assert record.steps in run.steps()
        assert str(record.message).startswith(f"stopped by {name} after step ")
    assert "Traceback" not in err
    if number is not signal.SIGKILL:
        assert (sweep.returncode, err.splitlines()[-1]) == (1, "aiayn: interrupted")
        assert not list(tmp_path.glob("runs/.jobs-*"))


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_command_that_waits_for_another_one_ends_by_a_signal(
    start: Start, tmp_path: Path, tiny: tuple[str, ...], at_once: int
) -> None:
    held = RunDirectory(tmp_path / "runs" / compose_command("train", [*tiny, "logger=none"]).identity.name)
    with held.locked():
        sweep = start("seed=1", f"hydra.launcher.n_jobs={at_once}")
        assert sweep.stderr is not None
        assert any(line.startswith("waiting for runs of other processes") for line in sweep.stderr)
        sweep.terminate()
        _, err = sweep.communicate(timeout=SECONDS)
    assert (sweep.returncode, err.splitlines()[-1]) == (1, "aiayn: interrupted")
    assert not list(tmp_path.glob("runs/.jobs-*"))
    until(lambda: not processes_in(tmp_path), seconds=15)


def test_a_launcher_that_loses_a_process_is_one_line(start: Start, tmp_path: Path) -> None:
    sweep = start("seed=1,2", *ENDLESS)
    until(lambda: len(runs_with_steps(tmp_path)) == 2)
    parents = processes_in(tmp_path)
    launcher = parents[parents[worker_of(runs_with_steps(tmp_path)[0])]]  # a fork server stands in between
    assert launcher != sweep.pid
    os.kill(launcher, signal.SIGKILL)
    out, err = sweep.communicate(timeout=SECONDS)
    assert sweep.returncode == 1
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith(
        "aiayn: 2 of 2 jobs that had begun failed: a process of the launcher was killed"
    )
    assert out.count("table3/base") == 2
    until(lambda: not processes_in(tmp_path), seconds=15)


def test_starting_workers_end_when_their_command_is_gone(start: Start, tmp_path: Path) -> None:
    sweep = start("seed=1,2", *ENDLESS)
    until(lambda: fork_servers(tmp_path))
    os.kill(processes_in(tmp_path)[fork_servers(tmp_path)[0]], signal.SIGKILL)
    _, err = sweep.communicate(timeout=SECONDS)
    assert sweep.returncode == 1, err
    until(lambda: not processes_in(tmp_path), seconds=60)  # includes loading libraries


def fork_servers(folder: Path) -> list[int]:
    """The fork servers that are loading libraries."""
    return [
        process
        for process in processes_in(folder)
        if b"aiayn.launch.fork_server" in Path(f"/proc/{process}/cmdline").read_bytes()
    ]


def test_repeated_interrupts_end_the_command_at_once(start: Start, tmp_path: Path) -> None:
    sweep = start("seed=1,2", *ENDLESS)
    until(lambda: len(runs_with_steps(tmp_path)) == 2)
    for _ in range(3):
        os.killpg(sweep.pid, signal.SIGINT)
        time.sleep(0.05)
    _, err = sweep.communicate(timeout=15)
    assert (sweep.returncode, err.splitlines()[-1]) == (1, "aiayn: interrupted")
    assert "Traceback" not in err
    until(lambda: not processes_in(tmp_path), seconds=15)
