"""A disk that is full is said in one line; what was written stays, and the same command goes on."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from commands import CommandLine, Find, Train
from run_files import last_checkpoint, losses
from run_files import only_run as only_run_below

from aiayn.commands.front_end import main
from aiayn.runs.directory import RunDirectory
from aiayn.runs.provenance import LARGEST_PATCH
from aiayn.runs.record import Status, read_record
from aiayn.training.checkpoint_io import load_checkpoint

pytestmark = pytest.mark.slow


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Within the block a write of this process beyond so many bytes of a file fails as on a full disk."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    wrote, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # Python would keep the first bytes of a module
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
        sys.dont_write_bytecode = wrote


def test_a_checkpoint_that_does_not_fit_ends_the_run_in_one_line(
    train: Train, only_run: Find, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = "model.d_model=128"
    with files_of_at_most(2 * LARGEST_PATCH):  # less than a checkpoint of such a model
        assert train(wide) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    complaint = said.splitlines()[-1].removeprefix("aiayn: ")
    assert complaint.startswith(f"paths.runs={tmp_path / 'runs'}: cannot write (File too large); free space")
    run = only_run()
    record = read_record(run / "run.json")
    assert (record.status, record.message, record.steps) == (Status.failed, complaint, 3)
    assert list((run / "checkpoints").iterdir()) == [], "no half of a checkpoint"
    assert list(losses(run)) == [1, 2, 3]

    assert train(wide) == 0, "the same command, when there is room again"
    assert read_record(run / "run.json").status is Status.finished

    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    capsys.readouterr()
    with files_of_at_most(100):
        assert main(["evaluate", f"run={run}", "decoding.beam_size=1"]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith(f"aiayn: run={run}: cannot write (File too large); free space")
    assert {path: path.read_bytes() for path in before} == before


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """A file system of its own at a folder, in memory; skip where nobody may mount one.

    Args:
        folder: made for it.
        size: bytes.
    """
    if shutil.which("mount") is None:
        pytest.skip("there is no `mount`")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    said = subprocess.run(mount, capture_output=True, text=True, check=False)
    if said.returncode:
        pytest.skip(said.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, *, left: int) -> Path:
    """Fill a disk but for so many bytes; returns the file that does."""
    filler = disk / "filler"
    room = os.statvfs(disk)
    with filler.open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, room.f_bavail * room.f_frsize - left)
    return filler


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_a_full_disk_leaves_the_last_good_checkpoint(
    train: Train, command_line: CommandLine, tmp_path: Path, processes: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Room for what a run writes and for one checkpoint and a half: the second one meets the end of the disk."""

    def start(runs: str) -> tuple[int, str]:
        words = (f"paths.runs={runs}", f"trainer.devices={processes}")
        if processes == 1:
            return train(*words), capfd.readouterr().err
        said = command_line(*words)
        return said.returncode, said.stderr

    assert start("whole")[0] == 0
    whole = RunDirectory(only_run_below(tmp_path / "whole"))
    checkpoint = whole.steps()[12].stat().st_size
    others = sum(path.stat().st_size for path in whole.path.glob("*") if path.is_file())
    disk = tmp_path / "disk"
    with small_disk(disk, 64 * 2**20):
        filler = fill(disk, left=others + checkpoint * 3 // 2)
        code, told = start("disk")
        assert code == 2, told
        run = RunDirectory(only_run_below(disk))
        record = read_record(run.record)
        assert (record.status, record.steps) == (Status.failed, 6)
        assert f"paths.runs={disk}: cannot write (No space left on device); free space there" in str(record.message)
        assert [line for line in told.splitlines() if "No space left" in line] == [f"aiayn: {record.message}"]
        assert "Traceback" not in told
        assert [path.name for path in run.checkpoints.iterdir()] == ["step-0000003.ckpt"], "no half of a checkpoint"
        assert load_checkpoint(run.steps()[3], provenance=None)["global_step"] == 3

        filler.unlink()
        code, told = start("disk")
        assert code == 0, told
        assert read_record(run.record).status is Status.finished
        assert losses(run.path) == losses(whole.path)
        weights, others = (last_checkpoint(each.path)["state_dict"] for each in (run, whole))
        assert all(torch.equal(weights[name], value) for name, value in others.items())
