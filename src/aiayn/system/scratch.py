"""Temporary folders of one process; the next process to make one removes those of killed processes."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aiayn.errors import UserError

OWNER = ".owner"
"""A file in the folder with the owner's host; the owner and processes that inherit its lock hold it until they end."""

_locks: dict[Path, int] = {}
"""The descriptors of this process's locks, by folder."""


def make_scratch(parent: Path, *, prefix: str) -> Path:
    """Make an empty folder for this process below `parent`, and remove those left by killed processes."""
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent, prefix=prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    unlocked = folder / f"{OWNER}.new"
    descriptor = os.open(unlocked, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, os.uname().nodename.encode())
    except OSError:
        os.close(descriptor)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    with suppress(OSError):  # no locks on this file system: without OWNER the folder is never removed as abandoned
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unlocked.rename(folder / OWNER)
    _locks[folder] = descriptor
    return folder


def make_temporary(*, prefix: str) -> Path:
    """The same below the folder for temporary files; UserError, which names TMPDIR, if it cannot be made."""
    with naming_tmpdir():
        return make_scratch(Path(tempfile.gettempdir()), prefix=prefix)


@contextmanager
def naming_tmpdir() -> Iterator[None]:
    """Turn an error of making a folder for temporary files into a UserError that names TMPDIR."""
    place = os.environ.get("TMPDIR") or tempfile.tempdir or "/tmp"  # noqa: S108 (for the message)
    try:
        yield
    except OSError as error:
        raise UserError(
            f"TMPDIR={place}: no temporary folder can be made there ({error.strerror}); free space or set another"
        ) from error


def remove_scratch(folder: Path) -> None:
    """Remove a folder of `make_scratch`, if it still exists."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder in _locks:
        os.close(_locks.pop(folder))


def lock_of(folder: Path) -> int:
    """The descriptor of the lock on a folder of this process; a process that inherits it owns the folder too."""
    return _locks[folder]


def remove_abandoned(parent: Path, *, prefix: str) -> None:
    """Remove the folders of this user whose owners have died on this host."""
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):  # in use, or removed meanwhile
            _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    if folder in _locks or folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    descriptor = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if os.read(descriptor, 1024) == os.uname().nodename.encode():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while the owner lives
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
