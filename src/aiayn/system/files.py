"""Atomic writes: files and folders are written under a temporary name, synced and renamed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def atomic_writer(path: Path, *, is_new: bool = False) -> Iterator[IO[bytes]]:
    """Open a binary file that appears under `path` when the block ends without an error.

    Args:
        path: replaced if it exists.
        is_new: instead, FileExistsError if it exists; of several processes, one writes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        if is_new:
            path.hardlink_to(temporary)
            temporary.unlink()
        else:
            temporary.replace(path)
        sync_directory(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Fill a folder that appears under `path` at the end; OSError if that is a file or a folder that is not empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial"))
    try:
        yield partial
        for path_inside in partial.rglob("*"):
            if path_inside.is_dir():
                sync_directory(path_inside)
                continue
            with path_inside.open("rb") as stream:
                os.fsync(stream.fileno())
        sync_directory(partial)
        partial.chmod(0o777 & ~_umask())
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
    """Write a UTF-8 text file atomically."""
    write_bytes(path, text.encode())


def write_new(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically; FileExistsError if it exists."""
    with atomic_writer(path, is_new=True) as stream:
        stream.write(text.encode())


def append_line(path: Path, line: str) -> None:
    """Append a line to a UTF-8 text file, whole also if other processes append at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Make a rename inside `directory` survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
