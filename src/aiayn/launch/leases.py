"""Who may use which GPU or core of this machine: locks on files that all of a user's jobs know.

A lease lives as long as a process that has its descriptors. They are handed to the workers, so that a device is free
when its workers have ended, however they and whoever started them did.
"""

import fcntl
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from aiayn.errors import UserError

logger = logging.getLogger("aiayn")

POLL_SECONDS = 1.0
"""Between two looks for something free."""


@dataclass(frozen=True)
class Need:
    """What a job takes, all of it at once."""

    kind: str
    """What is leased, such as "gpu"."""
    choices: tuple[str, ...]
    """The names of those that will do."""
    count: int
    """How many of them; no more than there are."""
    sharers: int = 1
    """Jobs that may use one at the same time. They share it among themselves, never with jobs that want it alone."""


@dataclass(frozen=True)
class Lease:
    """What a job got."""

    names: tuple[str, ...]
    descriptors: tuple[int, ...]
    """Of the locks: a process that inherits them has the lease too, until it has ended."""


@contextmanager
def leased(need: Need) -> Iterator[Lease]:
    """Take what a job needs as soon as it is free.

    Raises:
        UserError: the folder of leases is not this user's alone.
    """
    assert 1 <= need.count <= len(need.choices)
    assert need.sharers >= 1
    folder = _folder()
    with ExitStack() as held:
        # While a folder is locked, systemd-tmpfiles removes nothing from it, however old.
        watched = _open(folder, os.O_RDONLY, held)
        fcntl.flock(watched, fcntl.LOCK_SH)
        taken = _take(folder, need, held)
        if taken is None:
            logger.info("waiting for a free %s: others have leased them; Ctrl-C ends the waiting", need.kind)
        while taken is None:
            time.sleep(POLL_SECONDS)
            taken = _take(folder, need, held)
        yield Lease(taken.names, (watched, *taken.descriptors))


def _folder() -> Path:
    """Where this user's leases lie, whichever folder the commands stand in."""
    folder = Path(tempfile.gettempdir()) / f"aiayn-leases-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise UserError(
            f"{folder}: leases lie here, and it is not yours alone: remove it, or set TMPDIR to another folder"
        )
    return folder


def _take(folder: Path, need: Need, held: ExitStack) -> Lease | None:
    """As many as are needed, or none. One process at a time looks, so that no two wait for each other's half."""
    with ExitStack() as looking:
        fcntl.flock(_open(folder / "looking", os.O_RDWR | os.O_CREAT, looking), fcntl.LOCK_EX)
        with ExitStack() as taking:
            names: list[str] = []
            descriptors: list[int] = []
            for name in need.choices:
                seat = _seat(folder / f"{need.kind}-{quote(name, safe='')}", need.sharers, taking)
                if seat:
                    names.append(name)
                    descriptors += seat
                if len(names) == need.count:
                    held.push(taking.pop_all())
                    return Lease(tuple(names), tuple(descriptors))
    return None


def _seat(path: Path, sharers: int, taking: ExitStack) -> list[int]:
    """The descriptors of a place at one device; none where it is taken."""
    with ExitStack() as trying:
        descriptors = [_try_lock(path, fcntl.LOCK_EX if sharers == 1 else fcntl.LOCK_SH, trying)]
        if sharers > 1 and descriptors[0] is not None:
            places = (path.with_name(f"{path.name}.{place}") for place in range(sharers))
            locks = (_try_lock(place, fcntl.LOCK_EX, trying) for place in places)
            descriptors.append(next((lock for lock in locks if lock is not None), None))
        found = [descriptor for descriptor in descriptors if descriptor is not None]
        if len(found) == len(descriptors):
            taking.push(trying.pop_all())
            return found
    return []


def _try_lock(path: Path, how: int, opened: ExitStack) -> int | None:
    """The descriptor of a lock on a file, or None where others have it."""
    descriptor = _open(path, os.O_RDWR | os.O_CREAT, opened)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return descriptor


def _open(path: Path, flags: int, opened: ExitStack) -> int:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    opened.callback(os.close, descriptor)
    return descriptor
