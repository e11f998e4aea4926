"""Atomic writes: files and folders are written under a temporary name, synced and renamed."""

import os
import secrets
import shutil
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
    temporary = _partial(path)
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
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
    partial = _partial(path)
    try:
        partial.mkdir()
        yield partial
        for path_inside in partial.rglob("*"):
            if path_inside.is_dir():
                sync_directory(path_inside)
                continue
            with path_inside.open("rb") as stream:
                os.fsync(stream.fileno())
        sync_directory(partial)
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
    with path.open("ab", buffering=0) as stream:
        stream.write(f"{line}\n".encode())
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
