"""Files and folders are written atomically."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aiayn.system import files


def test_a_replaced_file_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    files.write_bytes(path, b"old")
    with path.open("rb") as reader:
        files.write_text(path, "new and longer")
        assert reader.read() == b"old", "who had it open keeps what it had"
    assert path.read_bytes() == b"new and longer"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write_bytes(path, b"old")

    def fail_in_the_middle() -> None:
        with files.atomic_writer(path) as stream:
            stream.write(b"half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_in_the_middle()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "above" / "folder"
    with files.new_folder(path) as partial:
        (partial / "file").write_text("content")
        assert not path.exists()
    assert (path / "file").read_text() == "content"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_folder_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with files.new_folder(path) as partial:
        (partial / "file").write_text("first")

    def fail_in_the_middle() -> None:
        with files.new_folder(tmp_path / "other") as partial:
            (partial / "file").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_in_the_middle()
    with pytest.raises(OSError, match="not empty"), files.new_folder(path) as partial:
        (partial / "file").write_text("second")
    assert list(tmp_path.iterdir()) == [path]
    assert (path / "file").read_text() == "first"


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_folders_have_the_permissions_of_others_beside_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o2770)  # a folder of a group: entries below it belong to the group, folders pass that on
    with umask(0o007):
        files.write_text(tmp_path / "file", "content")
        files.append_line(tmp_path / "lines", "line")
        with files.new_folder(tmp_path / "folder"):
            pass
    assert mode(tmp_path / "file") == mode(tmp_path / "lines") == 0o660
    assert mode(tmp_path / "folder") == 0o2770
