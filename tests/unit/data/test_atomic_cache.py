"""Folders are complete or absent, and are read without a lock."""

import json
import os
from pathlib import Path

import pytest
from filelock import FileLock

from aiayn.data.preparation.atomic_cache import DamagedFolderError, Manifest, open_or_build, read_verified


def fill(folder: Path) -> dict[str, int]:
    (folder / "a").write_bytes(b"one")
    (folder / "b").write_bytes(b"two")
    return {"answer": 42}


def unexpected(folder: Path) -> dict[str, int]:
    raise AssertionError(f"{folder} was to be built again")


def build(directory: Path) -> Manifest:
    return open_or_build(directory, fill)


def test_a_folder_is_built_once_and_described(tmp_path: Path) -> None:
    manifest = build(tmp_path / "deep" / "folder")
    assert manifest["answer"] == 42
    assert {name: entry["bytes"] for name, entry in manifest["files"].items()} == {"a": 3, "b": 3}
    assert open_or_build(tmp_path / "deep" / "folder", unexpected) == manifest


def test_fingerprints_depend_on_names_and_contents_of_files(tmp_path: Path) -> None:
    def fill_swapped(folder: Path) -> dict[str, int]:
        (folder / "a").write_bytes(b"two")
        (folder / "b").write_bytes(b"one")
        return {"answer": 42}

    prints = [build(tmp_path / name)["fingerprint"] for name in ("x", "y")]
    assert prints[0] == prints[1] != open_or_build(tmp_path / "z", fill_swapped)["fingerprint"]


def test_a_complete_folder_is_opened_without_its_lock(tmp_path: Path) -> None:
    build(tmp_path / "folder")
    lock = tmp_path / "folder.lock"
    lock.unlink()
    lock.mkdir()  # whoever tries to lock now fails
    assert open_or_build(tmp_path / "folder", unexpected)["answer"] == 42


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def stop(folder: Path) -> dict[str, int]:
        fill(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_or_build(tmp_path / "folder", stop)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.lock"]
    assert build(tmp_path / "folder")["answer"] == 42


def test_leftovers_are_removed_unless_being_built(tmp_path: Path) -> None:
    for name in "mine", "dead", "alive":
        (tmp_path / f".{name}.random.partial").mkdir()
        fill(tmp_path / f".{name}.random.partial")
    with FileLock(tmp_path / "alive.lock"):
        build(tmp_path / "mine")
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".lock"} == {"mine", ".alive.random.partial"}


def test_an_edited_manifest_is_detected(tmp_path: Path) -> None:
    build(tmp_path / "folder")
    path = tmp_path / "folder" / "manifest.json"
    manifest = json.loads(path.read_bytes())
    lies: list[object] = [{**manifest, "answer": 43}, {**manifest, "files": {}}, [], {}]
    for lie in lies:
        path.write_bytes(json.dumps(lie, indent=2, sort_keys=True).encode() + b"\n")
        with pytest.raises(DamagedFolderError, match=r"manifest\.json does not match"):
            read_verified(tmp_path / "folder")


def test_all_who_may_write_into_a_shared_folder_may_take_its_locks(tmp_path: Path) -> None:
    tmp_path.chmod(0o2775)
    umask = os.umask(0o022)
    try:
        build(tmp_path / "folder")
    finally:
        os.umask(umask)
    assert (tmp_path / "folder.lock").stat().st_mode & 0o777 == 0o664


def test_leftovers_that_another_user_has_locked_stop_no_build(tmp_path: Path) -> None:
    leftover, lock = tmp_path / ".other.0a1b2c3d.partial", tmp_path / "other.lock"
    leftover.mkdir()
    lock.touch(0o444)
    if os.access(lock, os.W_OK):
        pytest.skip("this user may write every file")
    assert build(tmp_path / "folder")["answer"] == 42
    assert leftover.exists()
