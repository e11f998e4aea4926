"""Files and folders are written atomically; what cannot be read or written is named."""

import ast
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ordinary_user import ordinary_user

import aiayn
from aiayn.errors import UserError
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


QUESTIONS = (files.is_file, files.is_dir, files.exists)


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_not_there_is_absent(tmp_path: Path, question: Callable[[Path], bool]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nothing")
    absent = ("nothing", "nothing/below", "file/below", "dangling", "with\0nul")
    assert not any(question(tmp_path / name) for name in absent)


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_cannot_be_told_is_refused_with_path_and_key(tmp_path: Path, question: Callable[..., bool]) -> None:
    loop, closed = tmp_path / "loop", tmp_path / "closed"
    loop.symlink_to("loop")
    closed.mkdir(mode=0)
    for path, reason in ((loop, "symbolic links"), (closed / "file", "denied"), (tmp_path / ("x" * 300), "too long")):
        with pytest.raises(UserError) as caught, ordinary_user():
            question(path, key="output")
        assert str(caught.value).startswith(f"output={path}: ")
        assert reason in str(caught.value)


def test_text_is_read_or_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(FileNotFoundError):
        files.read_text(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=rf"^{path}: not text in UTF-8 "):
        files.read_text(path)
    path.chmod(0)
    with pytest.raises(UserError, match=rf"^{path}: cannot be read \(Permission denied\)"), ordinary_user():
        files.read_text(path)
    with pytest.raises(UserError, match=rf"^{tmp_path}: cannot be read \(Is a directory\)"):
        files.read_text(tmp_path)


def test_a_folder_is_listed_or_named(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    assert files.listed(folder) == []
    folder.mkdir()
    for name in ("b.txt", "a.txt", "c"):
        (folder / name).touch()
    assert [path.name for path in files.listed(folder, "*.txt")] == ["a.txt", "b.txt"]
    folder.chmod(0)
    with pytest.raises(UserError, match=rf"^{folder}: cannot be read \(Permission denied\)"), ordinary_user():
        files.listed(folder)


def test_an_error_of_writing_names_the_path_and_leaves_nothing(tmp_path: Path) -> None:
    folder, loop, closed = (tmp_path / name for name in ("folder", "loop", "closed"))
    (folder / "inside").mkdir(parents=True)
    loop.symlink_to("loop")
    closed.mkdir(mode=0o500)
    for path in (folder, loop / "file", folder / "inside" / ("x" * 300), closed / "file"):
        with pytest.raises(files.WriteError) as caught, ordinary_user():
            files.write_text(path, "content")
        assert str(caught.value.filename) in (str(path), str(path.parent))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["closed", "folder", "inside", "loop"]
    with pytest.raises(files.WriteError, match="No such file"):
        files.require_folder(tmp_path / "removed")


def test_only_this_module_asks_the_file_system_what_is_there() -> None:
    """`Path.is_file` and the like raise errors that name no key, and differ between versions of Python."""
    asked = {question.__name__ for question in QUESTIONS}
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in Path(aiayn.__file__).parent.rglob("*.py")}
    calls = ((path, node) for path, tree in modules.items() for node in ast.walk(tree) if isinstance(node, ast.Call))
    asking = [
        f"{path}:{call.lineno}"
        for path, call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in asked and not (call.args or call.keywords)
    ]
    assert asking == []
