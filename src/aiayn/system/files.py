"""Files: what is there, text, and atomic writes, under a temporary name that is synced and renamed.

An error of reading is a UserError that names the file; an error of writing is a `WriteError`.
"""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from aiayn.errors import UserError

NO_UTF8 = "backslashreplace"
"""How the bytes of a path that are not UTF-8 are written, as Python's encoders name it."""

ABSENT = (FileNotFoundError, NotADirectoryError)
"""Errors that say that a path does not exist."""


class WriteError(OSError):
    """A file or folder, `filename`, that cannot be written."""


def is_file(path: Path, *, key: str = "") -> bool:
    """Whether a path leads to a file; UserError, which names `key`, if the file system refuses the answer."""
    return stat.S_ISREG(_mode(path, key))


def is_dir(path: Path, *, key: str = "") -> bool:
    """Whether a path leads to a folder; errors as for `is_file`."""
    return stat.S_ISDIR(_mode(path, key))


def exists(path: Path, *, key: str = "") -> bool:
    """Whether a path leads to anything; errors as for `is_file`."""
    return _mode(path, key) != 0


def is_special(path: Path, *, key: str = "") -> bool:
    """Whether a path leads to a pipe or a device, which would be waited for or never end; errors as for `is_file`."""
    return exists(path, key=key) and not (is_file(path, key=key) or is_dir(path, key=key))


def _mode(path: Path, key: str) -> int:
    """The mode of what a path leads to; 0 if there is nothing."""
    try:
        return path.stat().st_mode
    except (*ABSENT, ValueError):  # ValueError: a name that no file can have
        return 0
    except OSError as error:
        named = f"{key}={path}" if key else str(path)
        raise UserError(f"{named}: {error.strerror}; correct the path or its permissions") from error


def is_inside(name: str) -> bool:
    """Whether a path, which somebody else may have written, is relative and stays inside the folder it starts from."""
    return bool(name.strip()) and "\0" not in name and not name.startswith("/") and ".." not in name.split("/")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an error of reading a file or folder into a UserError that names it; FileNotFoundError passes.

    Anything else is refused before it is opened: a pipe would wait for its writer.
    """
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise UserError(f"{path}: cannot be read (not a file); restore it")
        yield
    except ABSENT as error:
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct it or its permissions") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not text in UTF-8 ({error.reason} at byte {error.start}); restore it") from error


def require_readable(path: Path) -> None:
    """Errors as for `reading`, before a reader that takes a file which may not be read for a damaged one."""
    with reading(path):
        path.open("rb").close()


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8; a name of a file that is not has surrogates for its bytes."""
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def read_text(path: Path) -> str:
    """The text of a UTF-8 file; UserError if it cannot be read, FileNotFoundError if there is none."""
    with reading(path):
        return path.read_text(encoding="utf-8")


def listed(folder: Path, pattern: str = "*") -> list[Path]:
    """The entries of a folder whose names match, in order; none without a folder, UserError if it cannot be read."""
    with suppress(FileNotFoundError), reading(folder):
        return sorted(path for path in folder.iterdir() if fnmatchcase(path.name, pattern))
    return []


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of making, changing or removing a file or folder into a `WriteError` that names it.

    A pipe is refused before it is opened, which would wait for its reader.
    """
    try:
        if path.is_fifo():
            raise WriteError(errno.EINVAL, "a pipe, not a file", str(path))
        yield
    except OSError as error:
        raise WriteError(error.errno, error.strerror, str(path)) from error


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they do not exist; WriteError if that is impossible."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)


def require_folder(path: Path) -> None:
    """WriteError if a folder does not exist, such as one that was removed while a process worked in it."""
    if not is_dir(path):
        raise WriteError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


@contextmanager
def atomic_writer(path: Path, *, is_new: bool = False) -> Iterator[IO[bytes]]:
    """Open a binary file that appears under `path` when the block ends without an error.

    Args:
        path: replaced if it exists.
        is_new: instead, FileExistsError if it exists; of several processes, one writes it.
    """
    make_folder(path.parent)
    temporary = _partial(path)
    with writing(path):
        stream = temporary.open("xb")
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if is_new:
            path.hardlink_to(temporary)
            temporary.unlink()
        else:
            with writing(path):
                temporary.replace(path)
        sync_directory(path.parent)
    except BaseException:
        with suppress(*ABSENT):
            temporary.unlink()
        raise


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Fill a folder that appears under `path` at the end; OSError if that is a file or a folder that is not empty."""
    make_folder(path.parent)
    partial = _partial(path)
    with writing(path):
        partial.mkdir()
    try:
        yield partial
        for path_inside in partial.rglob("*"):
            if is_dir(path_inside):
                sync_directory(path_inside)
                continue
            with path_inside.open("rb") as stream:
                os.fsync(stream.fileno())
        sync_directory(partial)
        with writing(path):
            partial.rename(path)
        sync_directory(path.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: readers see the old content or the new, also after a crash."""
    with atomic_writer(path) as stream:
        stream.write(content)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically; bytes of a path that are not UTF-8 are written as numbers."""
    write_bytes(path, text.encode(errors=NO_UTF8))


def write_new(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically; FileExistsError if it exists."""
    with atomic_writer(path, is_new=True) as stream:
        stream.write(text.encode(errors=NO_UTF8))


def append_line(path: Path, line: str) -> None:
    """Append a line to a UTF-8 text file, whole also if other processes append at the same time."""
    make_folder(path.parent)
    with writing(path), path.open("ab", buffering=0) as stream:
        stream.write(f"{line}\n".encode(errors=NO_UTF8))
        os.fsync(stream.fileno())


def sync_directory(directory: Path) -> None:
    """Make a rename inside `directory` survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _partial(path: Path) -> Path:
    """A new name beside a path; a kill leaves it there."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
