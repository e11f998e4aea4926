"""The output of Slurm is parsed, and a stopped job is requeued exactly if Slurm stopped it."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import RunFailedError
from aiayn.launch.slurm import (
    JobState,
    RequeuedJobError,
    address,
    first_node,
    job_id,
    port,
    requeue,
    requeued_if_stopped,
    set_rendezvous,
)
from aiayn.runs.directory import RunDirectory
from aiayn.system.signals import INTERRUPTING, SignalledInterrupt

SHOWN = """JobId=12 JobName=aiayn UserId=root(0) GroupId=root(0) Priority=1 Nice=0
   JobState={state} Reason=None Dependency=(null)
   Requeue={requeue} Restarts={restarts} BatchFlag=1 Reboot=0 ExitCode=0:0
   SuspendTime=None SecsPreSuspend=0 PreemptEligibleTime=2026-03-01T12:00:00 PreemptTime={preempted}
"""

names = st.from_regex(r"[a-z]([a-z0-9-]{0,5}[a-z])?", fullmatch=True)
numbers = st.integers(0, 999).map(lambda number: f"{number:03}")
Slurm = Callable[..., Path]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """A `scontrol` that shows one job, and notes what it is asked for; no signal changes its meaning for good."""
    handlers = {number: signal.getsignal(number) for number in INTERRUPTING}
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "14")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "12")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")

    def make(*, state: str = "RUNNING", requeue: int = 1, restarts: int = 0, preempted: str = "None") -> Path:
        shown, asked = tmp_path / "shown", tmp_path / "asked"
        shown.write_text(SHOWN.format(state=state, requeue=requeue, restarts=restarts, preempted=preempted))
        (tmp_path / "bin").mkdir(exist_ok=True)
        program = tmp_path / "bin" / "scontrol"
        program.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n[ "$1" != show ] || cat {shown}\n')
        program.chmod(0o755)
        return asked

    yield make
    for number, handler in handlers.items():
        signal.signal(number, handler)


@given(name=names, low=numbers, high=numbers, suffix=names, rest=st.lists(names, max_size=2))
def test_the_first_node_is_found(name: str, low: str, high: str, suffix: str, rest: list[str]) -> None:
    others = "".join(f",{other}" for other in rest)
    assert first_node(f"{name}{others}") == name
    assert first_node(f"{name}[{low}]{others}") == f"{name}{low}"
    assert first_node(f"{name}[{low}-{high},{high}]{suffix}{others}") == f"{name}{low}{suffix}"
    assert first_node(f"{name}[{low},{high}]{suffix}[{high}-{low}]{others}") == f"{name}{low}{suffix}{high}"


@given(st.integers(1, 2**31))
def test_ports_are_ports_of_users(job: int) -> None:
    assert 1024 < port(str(job)) < 32768, "below those that systems hand out"


def test_a_stated_rendezvous_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    for name, value in {"SLURM_JOB_ID": "51234", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "n1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_ADDR", "10.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "")  # given back after the test
    monkeypatch.delenv("MASTER_PORT")
    monkeypatch.setenv("SLURM_STEP_NUM_NODES", "2")
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "")
    monkeypatch.delenv("SLURM_NTASKS_PER_NODE")
    set_rendezvous()
    assert (os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]) == ("10.0.0.1", "16234")
    assert os.environ["SLURM_NTASKS_PER_NODE"] == "1", "which Lightning asks for"


def test_slurm_is_asked_for_the_address_of_an_unknown_name(slurm: Slurm) -> None:
    slurm()
    assert address("localhost") == "localhost"
    with pytest.raises(RunFailedError, match=r"no address of node no\.such\.invalid: export MASTER_ADDR"):
        address("no.such.invalid")


def test_a_job_of_an_array_has_its_own_id(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    assert job_id() == "12_1"
    monkeypatch.delenv("SLURM_ARRAY_TASK_ID")
    assert job_id() == "14"


def test_a_job_state_is_parsed() -> None:
    shown = SHOWN.format(state="RUNNING", requeue=1, restarts=3, preempted="2026-03-01T12:30:00")
    assert JobState.read(shown) == JobState("RUNNING", 3, may_be_requeued=True, is_preempted=True)
    shown = SHOWN.format(state="COMPLETING", requeue=0, restarts=0, preempted="None")
    assert JobState.read(shown) == JobState("COMPLETING", 0, may_be_requeued=False, is_preempted=False)


PREEMPTED = {"preempted": "2026-03-01T12:30:00"}


@pytest.mark.parametrize("has_advanced", [True, False])
@pytest.mark.parametrize(
    ("stopped_by", "shown", "is_requeued", "is_asked"),
    [
        (signal.SIGUSR1, PREEMPTED, True, True),
        (signal.SIGTERM, PREEMPTED, True, True),
        (signal.SIGTERM, {}, False, False),
        (signal.SIGTERM, {"state": "COMPLETING"}, False, False),
        (signal.SIGTERM, {"state": "COMPLETING", "restarts": 1}, True, False),
        (signal.SIGUSR1, {"state": "CANCELLED"}, False, False),
        (signal.SIGINT, PREEMPTED, False, False),
    ],
)
def test_a_job_is_requeued_if_slurm_stopped_it(
    slurm: Slurm,
    stopped_by: signal.Signals,
    shown: dict[str, str],
    is_requeued: bool,
    is_asked: bool,
    has_advanced: bool,
) -> None:
    asked = slurm(**shown)
    assert requeue(stopped_by, has_advanced=has_advanced) is is_requeued
    assert ("requeue 12_1" in asked.read_text().splitlines() if asked.exists() else False) is is_asked


@pytest.mark.parametrize(
    ("may_be", "has_advanced", "reason"),
    [(1, False, "saved no new checkpoint in its time"), (0, True, r"hydra\.launcher\.requeue=true")],
)
def test_a_job_that_cannot_resume_is_not_requeued(slurm: Slurm, may_be: int, has_advanced: bool, reason: str) -> None:
    asked = slurm(requeue=may_be)
    with pytest.raises(RunFailedError, match=reason):
        requeue(signal.SIGUSR1, has_advanced=has_advanced)
    assert "requeue" not in asked.read_text()
    slurm_requeues = slurm(requeue=1)
    assert requeue(signal.SIGUSR1, has_advanced=True)
    assert "requeue 12_1" in slurm_requeues.read_text()


def test_steps_count_from_where_the_attempt_began(slurm: Slurm, tmp_path: Path) -> None:
    slurm()
    directory = RunDirectory(tmp_path / "run")
    directory.checkpoints.mkdir(parents=True)
    (directory.checkpoints / "step-0000007.ckpt").touch()
    no_step = pytest.raises(RunFailedError, match=r"stopped by SIGUSR1; .* saved no new checkpoint")
    with no_step, requeued_if_stopped(directory, anew=False):
        raise SignalledInterrupt(signal.SIGUSR1)
    with pytest.raises(RequeuedJobError), requeued_if_stopped(directory, anew=True):
        raise SignalledInterrupt(signal.SIGUSR1)
    with pytest.raises(RunFailedError, match="diverged"), requeued_if_stopped(directory, anew=False):
        raise RunFailedError("diverged")
