"""A scratch folder exists as long as its owner, and at most until the next one is made."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from aiayn.errors import UserError
from aiayn.system.scratch import OWNER, lock_of, make_scratch, make_temporary, remove_abandoned, remove_scratch

PREFIX = ".jobs-"

HOLD = """
import sys
from pathlib import Path
from aiayn.system.scratch import make_scratch
print(make_scratch(Path(sys.argv[1]), prefix=sys.argv[2]), flush=True)
sys.stdin.read()
"""


def holder(parent: Path) -> subprocess.Popen[str]:
    """Another process with a folder; its first line names it."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(parent), PREFIX], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def folder_of(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def test_the_next_process_removes_the_folder_of_a_killed_one(tmp_path: Path) -> None:
    with holder(tmp_path) as living, holder(tmp_path) as dying:
        kept, left = folder_of(living), folder_of(dying)
        (left / "1.json").touch()
        dying.kill()
        dying.wait()
        own = make_scratch(tmp_path, prefix=PREFIX)
        assert sorted(tmp_path.iterdir()) == sorted([kept, own])
        living.kill()
        living.wait()
    remove_abandoned(tmp_path, prefix=PREFIX)
    assert list(tmp_path.iterdir()) == [own], "not by its owner either"
    remove_scratch(own)
    remove_scratch(own)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_stays_while_a_process_has_its_lock(tmp_path: Path) -> None:
    folder = make_scratch(tmp_path, prefix=PREFIX)
    sleep = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(sleep, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[lock_of(folder)]) as heir:
        assert heir.stdout is not None
        heir.stdout.readline()
        os.close(lock_of(folder))
        moved = folder.rename(tmp_path / f"{PREFIX}moved")  # so that this process does not know it for its own
        remove_abandoned(tmp_path, prefix=PREFIX)
        assert moved.is_dir()
        heir.kill()
        heir.wait()
    remove_abandoned(tmp_path, prefix=PREFIX)
    assert not moved.exists()


@pytest.mark.parametrize("host", ["another", "", "x" * 2000])
def test_a_folder_of_another_host_stays(tmp_path: Path, host: str) -> None:
    folder = tmp_path / f"{PREFIX}{os.uname().nodename}-1"
    folder.mkdir()
    (folder / OWNER).write_text(host)
    make_scratch(tmp_path, prefix=PREFIX)
    assert folder.is_dir()


def test_other_files_stay(tmp_path: Path) -> None:
    file, bare, elsewhere = tmp_path / f"{PREFIX}file", tmp_path / f"{PREFIX}bare", tmp_path / "elsewhere"
    file.touch()
    bare.mkdir()
    elsewhere.mkdir()
    (elsewhere / OWNER).write_text(os.uname().nodename)
    link = tmp_path / f"{PREFIX}link"
    link.symlink_to(elsewhere)
    before = sorted(tmp_path.rglob("*"))
    remove_abandoned(tmp_path, prefix=PREFIX)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_temporary_folder_that_cannot_be_made_names_tmpdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with pytest.raises(UserError, match=f"^TMPDIR={tmp_path}/file: no temporary folder can be made there"):
        make_temporary(prefix="x-")
