"""W&B data of a run: attempts in order, and which of them the server has."""

from pathlib import Path

import pytest

from aiayn.runs.directory import RunDirectory
from aiayn.tracking.wandb_attempts import mark_if_sent, wandb_attempts


def write_attempt(directory: RunDirectory, name: str, *, content: str = "logged", log: str | None = None) -> Path:
    folder = directory.path / "wandb" / name
    (folder / "logs").mkdir(parents=True)
    (folder / f"run-{name.rpartition('-')[2]}.wandb").write_text(content)
    if log is not None:
        (folder / "logs" / "debug-internal.log").write_text(log)
    return folder


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path)


def test_attempts_are_ordered_by_time_online_or_not(directory: RunDirectory) -> None:
    write_attempt(directory, "offline-run-20260102_000000-second")
    write_attempt(directory, "run-20260103_000000-third")
    first = write_attempt(directory, "run-20260101_000000-first")
    (directory.path / "wandb" / "latest-run").symlink_to(first.name)
    names = [attempt.file.name for attempt in wandb_attempts(directory)]
    assert names == ["run-first.wandb", "run-second.wandb", "run-third.wandb"]


def test_empty_files_are_not_attempts(directory: RunDirectory) -> None:
    assert wandb_attempts(directory) == []
    write_attempt(directory, "offline-run-20260101_000000-killed", content="")
    assert wandb_attempts(directory) == []


def test_marks_are_those_of_the_client(directory: RunDirectory) -> None:
    folder = write_attempt(directory, "offline-run-20260101_000000-one")
    (attempt,) = wandb_attempts(directory)
    states = [attempt.is_sent]
    for act in (attempt.mark_as_sent, attempt.unmark, attempt.unmark, attempt.mark_as_sent):
        act()
        states.append(attempt.is_sent)
    assert states == [False, True, False, False, True]
    assert (folder / "run-one.wandb.synced").exists()


@pytest.mark.parametrize(
    ("log", "is_sent"),
    [
        ('{"level":"ERROR","msg":"featurechecker: response serverInfo nil"}\n', True),
        ('{"level":"ERROR+4","msg":"filestream: fatal error: filestream: failed to upload: 404"}\n', False),
        ('{"level":"ERROR","msg":"file transfer: upload: failed to upload: status: 403"}\n', False),
        (None, False),
    ],
)
def test_an_online_attempt_is_marked_unless_a_part_was_refused(
    directory: RunDirectory, log: str | None, is_sent: bool
) -> None:
    mark_if_sent(write_attempt(directory, "run-20260101_000000-one", log=log))
    (attempt,) = wandb_attempts(directory)
    assert attempt.is_sent == is_sent
