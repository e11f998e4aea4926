"""A run resumes from the newest whole checkpoint."""

import io
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from example_record import example_record
from hypothesis import given
from hypothesis import strategies as st
from ordinary_user import ordinary_user

from aiayn.errors import UserError
from aiayn.launch.starting_point import misses_validation, newest_whole_checkpoint
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status
from aiayn.training.checkpoint_io import ForeignCheckpointError
from aiayn.training.lightning_internals import TRAINING_STATE

RECORD = example_record(Status.interrupted)


def content(step: int) -> dict[str, Any]:
    return {
        "aiayn": {"progress": {"target_tokens": step}, "window": {}, "provenance": {"config_hash": "0"}},
        "state_dict": {"weight": torch.arange(6.0).view(2, 3) + step},
        "global_step": step,
        **dict.fromkeys(TRAINING_STATE),
    }


def saved(step: int, *, without: str = "") -> bytes:
    stream = io.BytesIO()
    torch.save({key: value for key, value in content(step).items() if key != without}, stream)
    return stream.getvalue()


WHOLE = {step: saved(step) for step in (3, 6, 9)}


def run_with(folder: Path, **checkpoints: bytes) -> RunDirectory:
    """A run directory with files by name, such as step_9."""
    directory = RunDirectory(folder)
    directory.checkpoints.mkdir()
    for name, file in checkpoints.items():
        kind, step = name.split("_")
        (directory.checkpoints / f"{kind}-{int(step):07d}.ckpt").write_bytes(file)
    return directory


def files_of(directory: RunDirectory) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.checkpoints.iterdir()}


def test_a_new_run_has_none(tmp_path: Path) -> None:
    assert newest_whole_checkpoint(RunDirectory(tmp_path), RECORD) is None
    assert newest_whole_checkpoint(run_with(tmp_path), RECORD) is None


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["step", "best"]), st.sampled_from([3, 6, 9])), st.booleans(), min_size=1
    ),
    st.integers(1, min(map(len, WHOLE.values()))),
)
def test_the_newest_whole_checkpoint_is_taken_and_newer_damaged_ones_are_renamed(
    written: dict[tuple[str, int], bool], lost: int
) -> None:
    def name(kind: str, step: int) -> str:
        return f"{kind}-{step:07d}.ckpt"

    with tempfile.TemporaryDirectory() as folder:
        files = {f"{kind}_{step}": WHOLE[step][: None if whole else -lost] for (kind, step), whole in written.items()}
        directory = run_with(Path(folder), **files)
        before = files_of(directory)
        newest_first = sorted(written, key=lambda each: (each[1], each[0]), reverse=True)
        passed_over = [each for each in newest_first if not written[each]]
        if not any(written.values()):
            with pytest.raises(UserError, match=r"all \d checkpoints there are damaged: .* force=true$"):
                newest_whole_checkpoint(directory, RECORD)
            assert files_of(directory) == before, "no file is renamed"
            return
        kind, step = next(each for each in newest_first if written[each])
        assert newest_whole_checkpoint(directory, RECORD) == (step, directory.checkpoints / name(kind, step))
        aside = {name(*each) for each in passed_over if newest_first.index(each) < newest_first.index((kind, step))}
        assert files_of(directory) == {file + ".damaged" * (file in aside): content for file, content in before.items()}
        assert newest_whole_checkpoint(directory, RECORD) == (step, directory.checkpoints / name(kind, step))


def test_the_newest_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    directory = run_with(tmp_path, step_3=WHOLE[3], best_6=WHOLE[6][:-1], step_6=WHOLE[6])
    before = files_of(directory)
    with pytest.raises(ForeignCheckpointError, match=r"step-0000006\.ckpt: a checkpoint of another run"):
        newest_whole_checkpoint(directory, replace(RECORD, config_hash="1"))
    assert files_of(directory) == before


def test_damaged_checkpoints_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = run_with(tmp_path, step_3=WHOLE[3], best_6=b"", step_6=WHOLE[6][:-1])
    assert newest_whole_checkpoint(directory, RECORD) == (3, directory.checkpoints / "step-0000003.ckpt")
    first, second = (record.getMessage() for record in caplog.records)
    for line, name in ((first, "step-0000006.ckpt"), (second, "best-0000006.ckpt")):
        assert line.startswith(f"{directory.checkpoints / name}: not a readable checkpoint (")
        assert line.endswith(f"); renamed to {name}.damaged; resuming from step-0000003.ckpt")
    assert {record.levelname for record in caplog.records} == {"WARNING"}


@pytest.mark.parametrize("part", TRAINING_STATE)
def test_weights_without_the_state_of_training_are_passed_over(
    tmp_path: Path, part: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as those of `+callbacks.best.save_weights_only=true`."""
    caplog.set_level("INFO")
    directory = run_with(tmp_path, step_3=WHOLE[3], best_6=saved(6, without=part))
    before = files_of(directory)
    assert newest_whole_checkpoint(directory, RECORD) == (3, directory.checkpoints / "step-0000003.ckpt")
    (directory.checkpoints / "step-0000003.ckpt").unlink()
    assert newest_whole_checkpoint(directory, RECORD) is None
    resumed, anew = (record.getMessage() for record in caplog.records)
    assert resumed.endswith("weights alone, without the state of training, in best-0000006.ckpt")
    assert anew == f"{directory.checkpoints}: starting anew, since no checkpoint holds the state of training"
    assert files_of(directory) == {name: file for name, file in before.items() if name.startswith("best")}


def test_a_checkpoint_that_may_not_be_read_is_not_a_damaged_one(tmp_path: Path) -> None:
    directory = run_with(tmp_path, step_3=WHOLE[3], step_6=WHOLE[6])
    newest = directory.steps()[6]
    newest.chmod(0)
    with pytest.raises(UserError, match=rf"^{newest}: cannot be read \(Permission denied\)"), ordinary_user():
        newest_whole_checkpoint(directory, RECORD)
    assert list(directory.steps()) == [3, 6]


def test_a_validation_that_was_due_and_is_not_logged_is_missed(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    assert [step for step in range(13) if misses_validation(directory, step, interval=6)] == [6, 12]
    directory.metrics.write_text('{"step": 6, "train/loss": 1.0}\n{"step": 6, "val/ppl": 2.0}\n{"step": 12, "val/p')
    assert [step for step in range(13) if misses_validation(directory, step, interval=6)] == [12]
