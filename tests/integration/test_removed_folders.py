"""A folder that is removed or moved while a run trains is said in one line, and is not made again in part."""

from pathlib import Path

import pytest
from commands import CommandLine, Train

from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.slow


def mover(folder: Path, to: Path, *, batch: int) -> str:
    return f"+callbacks.mover={{_target_: observers.Mover, folder: '{folder}', to: '{to}', batch: {batch}}}"


@pytest.mark.parametrize("interval", [1, 6])
def test_a_run_folder_that_was_moved_is_not_made_again(
    train: Train, tmp_path: Path, interval: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the metrics are written next, or a checkpoint."""
    runs, moved = tmp_path / "runs", tmp_path / "moved"
    words = (mover(runs, moved, batch=7), f"trainer.log_every_n_steps={interval}", f"paths.runs={runs}")
    assert train(*words) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith(f"aiayn: paths.runs={runs}: cannot write to {runs}/")
    assert said.endswith(
        "(No such file or directory); the folder was removed or moved: bring it back, or rerun the command\n"
    )
    assert not runs.exists()
    (record,) = moved.glob("*/*/*/run.json")
    assert read_record(record).status is Status.running, "as after a kill"

    moved.rename(runs)
    assert train(*words[1:]) == 0
    (record,) = runs.glob("*/*/*/run.json")
    assert read_record(record).status is Status.finished


@pytest.mark.long
def test_a_process_of_its_own_names_the_folder_that_was_moved(command_line: CommandLine, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    said = command_line(mover(runs, tmp_path / "moved", batch=4), f"paths.runs={runs}", "trainer.devices=2")
    assert said.returncode == 2
    assert "Traceback" not in said.stderr
    assert f"paths.runs={runs}: cannot write to {runs}/" in said.stderr.splitlines()[-1]
    assert not runs.exists()


def test_a_cache_that_was_removed_ends_the_run_in_one_line(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache, removed = tmp_path / "cache", tmp_path / "removed"
    words = (mover(cache, removed, batch=9), f"paths.cache={cache}", f"paths.runs={tmp_path / 'runs'}")
    assert train(*words) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith(f"aiayn: {cache}/prepared/")
    assert said.endswith(": this file of the prepared corpus was removed or changed; rerun, and it is made again\n")
    (record,) = (tmp_path / "runs").glob("*/*/*/run.json")
    assert read_record(record).status is Status.failed

    assert train(*words[1:]) == 0
