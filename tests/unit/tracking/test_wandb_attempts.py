"""What W&B has kept of a run: its attempts in order, and which of them its server has."""

from pathlib import Path

import pytest

from aiayn.runs.directory import RunDirectory
from aiayn.tracking.wandb_attempts import mark_if_sent, wandb_attempts


def make_attempt(directory: RunDirectory, name: str, *, content: str = "logged", log: str | None = None) -> Path:
    folder = directory.path / "wandb" / name
    (folder / "logs").mkdir(parents=True)
    (folder / f"run-{name.rpartition('-')[2]}.wandb").write_text(content)
    if log is not None:
        (folder / "logs" / "debug-internal.log").write_text(log)
    return folder


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path)


def test_attempts_come_in_the_order_of_their_time_whether_online_or_not(directory: RunDirectory) -> None:
    make_attempt(directory, "offline-run-20260102_000000-second")
    make_attempt(directory, "run-20260103_000000-third")
    first = make_attempt(directory, "run-20260101_000000-first")
    (directory.path / "wandb" / "latest-run").symlink_to(first.name)
    assert [attempt.run_id for attempt in wandb_attempts(directory)] == ["first", "second", "third"]


def test_where_nothing_was_written_there_is_nothing_to_send(directory: RunDirectory) -> None:
    assert wandb_attempts(directory) == []
    make_attempt(directory, "offline-run-20260101_000000-killed", content="")
    assert wandb_attempts(directory) == []


def test_a_mark_is_the_clients_own_and_can_be_taken_back(directory: RunDirectory) -> None:
    folder = make_attempt(directory, "offline-run-20260101_000000-one")
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
def test_an_attempt_that_was_online_is_marked_unless_a_part_was_refused(
    directory: RunDirectory, log: str | None, is_sent: bool
) -> None:
    mark_if_sent(make_attempt(directory, "run-20260101_000000-one", log=log))
    (attempt,) = wandb_attempts(directory)
    assert attempt.is_sent == is_sent
