"""The rank that was to blame is found among those that only lost it."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.launch import failures
from aiayn.launch.failures import CAUSES, Failure, Kind, cause_of, forget_failures, read_failures, write_failure
from aiayn.runs.directory import RunDirectory

kinds = st.sampled_from(Kind)
told = st.lists(
    st.builds(Failure, rank=st.integers(0, 9), kind=kinds, message=st.sampled_from("abc"), seconds=st.floats(0, 9)),
    unique_by=lambda failure: failure.rank,
)


@given(told)
def test_the_cause_came_first_or_says_the_same_as_what_came_first(failures: list[Failure]) -> None:
    cause = cause_of(failures)
    causes = [failure for failure in failures if failure.kind in CAUSES]
    if cause is None:
        assert not causes
        return
    first = min(causes, key=lambda failure: failure.seconds)
    assert cause.seconds == first.seconds or (cause.message == first.message and cause.rank < first.rank)


def test_what_is_told_is_read_and_forgotten(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    assert read_failures(directory) == []
    for rank, kind in enumerate(Kind):
        write_failure(directory, rank=rank, kind=kind, message=f"ä\n{kind}")
    assert [(each.rank, each.kind, each.message) for each in read_failures(directory)] == [
        (rank, kind, f"ä\n{kind}") for rank, kind in enumerate(Kind)
    ]
    forget_failures(directory)
    forget_failures(directory)
    assert read_failures(directory) == []
    assert list(tmp_path.iterdir()) == []


def test_nobody_waits_for_ever_for_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "SECONDS_TO_TELL", 0.2)
    directory = RunDirectory(tmp_path)
    write_failure(directory, rank=0, kind=Kind.lost, message="where is it?")
    started = time.monotonic()
    assert failures.awaited_cause(directory) is None
    assert time.monotonic() - started < 5
    write_failure(directory, rank=1, kind=Kind.failed, message="here")
    cause = failures.awaited_cause(directory)
    assert cause is not None
    assert cause.text == "rank 1: here"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, "ended with code 1"),
        (-9, "was killed by SIGKILL: the kernel does so where memory runs out"),
        (-6, "was killed by SIGABRT"),
    ],
)
def test_a_silent_end_is_named(code: int, words: str) -> None:
    assert failures.last_words(code) == words
