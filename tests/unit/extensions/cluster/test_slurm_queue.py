"""A job has ended when two looks at the queue agree, not when Slurm does not answer."""

import logging
import os
from pathlib import Path

import pytest
from example_record import example_record
from hypothesis import given
from hypothesis import strategies as st

from aiayn.extensions.cluster.slurm_queue import (
    ATTEMPT,
    FINAL,
    GONE,
    Queue,
    QueuedJob,
    explain_end,
    lost_task,
    read_queue,
)
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record

jobs = st.from_regex(r"[1-9][0-9]{0,6}(_[0-9]{1,3})?", fullmatch=True)
states = st.sampled_from(["PENDING", "RUNNING", "COMPLETING", *sorted(FINAL)])
reasons = st.from_regex(r"[A-Z][A-Za-z]{0,10}", fullmatch=True)


@given(st.dictionaries(jobs, st.builds(QueuedJob, states, reasons)))
def test_a_queue_is_read_as_squeue_writes_it(queue: dict[str, QueuedJob]) -> None:
    text = "".join(f"{job}|{entry.state}|{entry.reason}\n" for job, entry in queue.items())
    assert read_queue(text) == queue


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `squeue` shows; it fails where there is no such file."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "squeue"
    program.write_text(f"#!/bin/sh\ncat {tmp_path / 'shown'}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "shown"


def test_two_looks_make_an_end(shown: Path) -> None:
    queue, asked = Queue(), ("1_0", "1_1", "2", "3")
    shown.write_text("1_0|RUNNING|None\n1_1|FAILED|NonZeroExitCode\n3|PREEMPTED|None\n9|RUNNING|None\n")
    there = {"1_0": QueuedJob("RUNNING", "None")}
    assert queue.look(asked) == (there, {})
    shown.write_text("1_0|RUNNING|None\n1_1|FAILED|NonZeroExitCode\n3|PENDING|BeginTime\n")
    back = QueuedJob("PENDING", "BeginTime")
    assert queue.look(asked) == ({**there, "3": back}, {"1_1": "FAILED", "2": GONE})
    assert str(back) == "pending (BeginTime)"


def test_no_answer_is_no_end_and_is_logged_once(shown: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "aiayn")
    queue = Queue()
    for _ in range(3):
        assert queue.look(["1"]) is None
    shown.write_text("1|RUNNING|None\n")
    assert queue.look(["1"]) == ({"1": QueuedJob("RUNNING", "None")}, {})
    assert [record.levelname for record in caplog.records if record.name == "aiayn"] == ["WARNING", "INFO"]


LOG = f"""{ATTEMPT}
srun: error: n1: task 0: Killed
{ATTEMPT}
train: step 1/12
srun: error: n1: tasks 0,2: Exited with exit code 1
"""


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("srun: error: n2: task 1: Out Of Memory\nsrun: error: n1: task 0: Killed\n", "rank 1 on n2: Out Of Memory"),
        ("srun: error: n1: task 1: Terminated\n", None),
    ],
)
def test_the_rank_that_was_killed_is_named_for_the_last_attempt(tmp_path: Path, last: str, said: str | None) -> None:
    log = tmp_path / "log"
    assert lost_task(log) is None
    log.write_text(LOG + last)
    assert lost_task(log) == said


def record_in(path: Path, status: Status) -> RunDirectory:
    directory = RunDirectory(path)
    example_record(status).write(directory.record)
    return directory


def test_a_record_that_says_running_is_marked_failed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    running = record_in(tmp_path / "running", Status.running)
    message = explain_end("12_1", "TIMEOUT", directory=running, log=log)
    assert message == f"Slurm job 12_1: TIMEOUT; see {log}"
    ended = read_record(running.record)
    assert (ended.status, ended.message) == (Status.failed, message)
    assert ended.ended is not None

    stopped = record_in(tmp_path / "stopped", Status.interrupted)
    explain_end("12_2", "CANCELLED", directory=stopped, log=log)
    assert read_record(stopped.record).status is Status.interrupted


def test_a_run_that_another_process_has_resumed_is_left_alone(tmp_path: Path) -> None:
    running = record_in(tmp_path / "running", Status.running)
    with running.locked():
        explain_end("12", "NODE_FAIL", directory=running, log=running.record)
    assert read_record(running.record).status is Status.running


def test_a_job_without_a_log_has_not_begun(tmp_path: Path) -> None:
    said = explain_end("12", GONE, directory=RunDirectory(tmp_path / "run"), log=tmp_path / "log")
    assert said == "Slurm job 12: cancelled before it began"
