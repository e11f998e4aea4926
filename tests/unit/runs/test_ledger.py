"""The ledger states the present state of every run, also of killed ones."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from example_record import example_record
from ordinary_user import ordinary_user

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import State, read_ledger, read_results
from aiayn.runs.record import Status


def a_run(runs: Path, name: str, status: Status, *, steps: int = 0, message: str | None = None) -> RunDirectory:
    directory = RunDirectory(runs / "table3" / name)
    example_record(status, message=message, steps=steps, max_steps=100).write(directory.record)
    return directory


def log(directory: RunDirectory, *rows: dict[str, float], torn: str = "") -> None:
    directory.metrics.write_text("".join(f"{json.dumps(row)}\n" for row in rows) + torn)


def test_the_record_states_how_a_run_ended(tmp_path: Path) -> None:
    for status in (Status.failed, Status.finished, Status.interrupted):
        a_run(tmp_path, status, status, steps=7, message=f"it {status}")
    entries = read_ledger(tmp_path)
    assert [entry.state.value for entry in entries] == ["failed", "finished", "interrupted"]
    assert [entry.message for entry in entries] == [f"it {entry.state}" for entry in entries]
    assert {entry.step for entry in entries} == {7}
    assert {entry.seconds_left for entry in entries} == {None}


def test_a_locked_run_is_running_and_shows_its_last_logged_step(tmp_path: Path) -> None:
    directory = a_run(tmp_path, "a", Status.running)
    rows: list[dict[str, float]] = [{"step": 10, "train/seconds": 5.0}, {"step": 20, "train/seconds": 10.0}]
    log(directory, *rows, {"step": 20, "val/ppl": 3.0}, torn='{"step": 30, "train/seconds": 1')
    with directory.locked():
        (entry,) = read_ledger(tmp_path)
    assert (entry.state, entry.step, entry.seconds) == (State.running, 20, 10.0)
    assert entry.seconds_left == pytest.approx(40.0)
    assert "process " in str(entry.message)


def test_a_run_whose_process_is_gone_was_killed(tmp_path: Path) -> None:
    directory = a_run(tmp_path, "a", Status.running)
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom aiayn.runs.directory import RunDirectory\n"
        "with RunDirectory(Path(sys.argv[1])).locked():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(directory.path)], check=False, timeout=60)
    assert (directory.path / ".holder").is_file(), "SIGKILL leaves it behind"
    (entry,) = read_ledger(tmp_path)
    assert entry.state is State.killed
    assert entry.seconds_left is None
    with directory.locked():
        (entry,) = read_ledger(tmp_path)
    assert entry.state is State.running


def test_a_record_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    a_run(tmp_path, "a", Status.finished)
    a_run(tmp_path, "b", Status.finished).record.write_text("{")
    whole, damaged = read_ledger(tmp_path)
    assert (whole.state, damaged.state) == (State.finished, State.unreadable)
    assert str(damaged.directory.record) in str(damaged.message)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert read_ledger(tmp_path) == []
    with pytest.raises(UserError, match=r"^paths\.runs=.*nowhere: no such folder"):
        read_ledger(tmp_path / "nowhere")


def test_clearing_leaves_only_the_lock_and_the_number_of_repeats(tmp_path: Path) -> None:
    directory = a_run(tmp_path, "a", Status.failed)
    (directory.checkpoints).mkdir()
    (directory.checkpoints / "step-0000001.ckpt").write_bytes(b"0")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    (directory.path / "link").symlink_to(outside)
    with directory.locked():
        directory.clear()
        assert {path.name for path in directory.path.iterdir()} == {".lock", ".holder"}
        assert directory.repeats == 0
        for repeats in (1, 2):
            directory.count_repeat()
            directory.clear()
            assert directory.repeats == repeats
    directory.repeats_file.write_text("many")
    with pytest.raises(UserError, match="not a number of repeats"):
        _ = directory.repeats
    assert (outside / "precious").exists()


LINES = ['{"step": "x"}', "{step}", '{"step": [1]}', '{"val/ppl": 3}', "[1]", "text", '{"step": 1.5}', '{"step": -1}']
LINES += [f'{{"step": 1, "val/ppl": {number}}}' for number in ("NaN", "1e999", 400 * "9", "true", 5000 * "[")]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:30])
def test_a_run_with_damaged_metrics_is_unreadable(tmp_path: Path, line: str) -> None:
    directory = a_run(tmp_path, "a", Status.running)
    log(directory, torn=f"{line}\n")
    (entry,) = read_ledger(tmp_path)
    assert entry.state is State.unreadable
    assert str(entry.message).startswith(f"{directory.metrics}: ")


def test_a_damaged_file_of_sweeps_is_named(tmp_path: Path) -> None:
    directory = a_run(tmp_path, "a", Status.finished)
    directory.sweeps_file.write_bytes(b"\xff")
    with pytest.raises(UserError, match=rf"^{directory.sweeps_file}: not text in UTF-8 "):
        _ = directory.sweeps


def test_runs_that_may_not_be_read_are_said_and_are_not_absent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    closed, record = (a_run(tmp_path, name, Status.finished) for name in ("closed", "record"))
    closed.path.chmod(0)
    record.record.chmod(0)
    with ordinary_user():
        entries = read_results(tmp_path, with_warnings=True)
    closed.path.chmod(0o700)
    assert [entry.state for entry in entries] == [State.unreadable, State.unreadable]
    said = [each.getMessage() for each in caplog.records]
    assert [line.startswith(f"left out: {each.path}") for line, each in zip(said, (closed, record), strict=True)]
    assert all("Permission denied" in line for line in said)
