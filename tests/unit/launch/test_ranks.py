"""The failure that explains the others is found; an agent that cannot start fails."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.launch.ranks import (
    CAUSES,
    FOLDER,
    Failure,
    Kind,
    cause_of,
    clear_failures,
    exit_text,
    read_failures,
    wait_for_cause,
    write_failure,
)
from aiayn.runs.directory import RunDirectory

kinds = st.sampled_from(Kind)
told = st.lists(
    st.builds(Failure, rank=st.integers(0, 9), kind=kinds, message=st.sampled_from("abc"), seconds=st.floats(0, 9)),
    unique_by=lambda failure: failure.rank,
)


@given(told)
def test_the_cause_is_the_first_failure_or_has_its_message(failures: list[Failure]) -> None:
    cause = cause_of(failures)
    causes = [failure for failure in failures if failure.kind in CAUSES]
    if cause is None:
        assert not causes
        return
    first = min(causes, key=lambda failure: failure.seconds)
    assert cause.seconds == first.seconds or (cause.message == first.message and cause.rank < first.rank)


def test_failures_are_read_as_written_and_cleared(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    assert read_failures(directory) == []
    for rank, kind in enumerate(Kind):
        write_failure(directory, rank=rank, kind=kind, message=f"ä\n{kind}")
    assert [(each.rank, each.kind, each.message) for each in read_failures(directory)] == [
        (rank, kind, f"ä\n{kind}") for rank, kind in enumerate(Kind)
    ]
    clear_failures(directory)
    clear_failures(directory)
    assert read_failures(directory) == []
    assert list(tmp_path.iterdir()) == []


def test_waiting_for_a_cause_ends(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    write_failure(directory, rank=0, kind=Kind.lost, message="where is it?")
    started = time.monotonic()
    assert wait_for_cause(directory) is None
    assert time.monotonic() - started < 30
    write_failure(directory, rank=1, kind=Kind.failed, message="here")
    cause = wait_for_cause(directory)
    assert cause is not None
    assert cause.text == "rank 1: here"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, "ended with code 1"),
        (-9, "was killed by SIGKILL: the kernel does so when memory runs out"),
        (-6, "was killed by SIGABRT"),
    ],
)
def test_exit_codes_are_named(code: int, words: str) -> None:
    assert exit_text(code) == words


@pytest.mark.slow
def test_an_agent_that_cannot_start_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = subprocess.run(
        [sys.executable, "-m", "aiayn.launch.group", str(tmp_path), "aiayn train", "2"],
        env={**os.environ, FOLDER: str(tmp_path / "file" / "no-folder")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
