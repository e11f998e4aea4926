"""Folders for the time of one process; of one that was killed, the next process that needs such a folder removes it."""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

OWNER = ".owner"
"""A file in the folder: the owner's host. The owner, and whatever it has forked, hold a lock on it until they end."""

_locks: dict[Path, int] = {}
"""The descriptors of this process's locks, by folder."""


def make_scratch(parent: Path, *, prefix: str) -> Path:
    """Make an empty folder that is this process's, and remove those that killed processes have left.

    Args:
        parent: where; made if it is not there.
        prefix: what the names of such folders begin with.

    Raises:
        OSError: it cannot be made.
    """
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent, prefix=prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    unlocked = folder / f"{OWNER}.new"
    descriptor = os.open(unlocked, os.O_RDWR | os.O_CREAT, 0o600)
    os.write(descriptor, os.uname().nodename.encode())
    with suppress(OSError):  # a file system without locks: without its file, the folder is never taken for abandoned
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unlocked.rename(folder / OWNER)
    _locks[folder] = descriptor
    return folder


def remove_scratch(folder: Path) -> None:
    """Remove a folder of `make_scratch`; one that is gone already is no matter."""
    shutil.rmtree(folder, ignore_errors=True)
    descriptor = _locks.pop(folder, None)
    if descriptor is not None:
        os.close(descriptor)


def lock_of(folder: Path) -> int:
    """The descriptor of the lock on a folder of this process: whatever inherits it owns the folder, too."""
    return _locks[folder]


def remove_abandoned(parent: Path, *, prefix: str) -> None:
    """Remove the folders whose owners have died on this host; those of others and of other hosts stay."""
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):  # another user's, or removed meanwhile
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
