"""A full disk or a shortage of memory in one line instead of a traceback."""

import errno
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from aiayn.errors import RunFailedError, UserError

DISK_ERRORS = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.ENAMETOOLONG,
    errno.ENOSPC,
    errno.EPERM,
    errno.EROFS,
}
"""Error numbers with which a file system refuses a write."""

NO_SPACE = {errno.EDQUOT, errno.EFBIG, errno.ENOSPC}
"""Error numbers that only a write can have."""

OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|bad_alloc", re.IGNORECASE)
"""In torch's messages; on CPUs it raises a plain RuntimeError."""


@contextmanager
def disk_errors_explained(setting: str) -> Iterator[None]:
    """Turn a refused write into a UserError that names the setting, such as `paths.runs=runs`."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        where = f" to {error.filename}" if error.filename else ""
        raise UserError(
            f"{setting}: cannot write{where} ({error.strerror}); free space there or choose another folder"
        ) from error


@contextmanager
def memory_errors_explained(remedy: str) -> Iterator[None]:
    """Turn a shortage of memory into a RunFailedError that names the settings to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not OUT_OF_MEMORY.search(str(error)):
            raise
        raise RunFailedError(f"memory does not suffice: lower {remedy}") from error


@contextmanager
def stdout_errors_explained() -> Iterator[None]:
    """Turn a full disk under standard output into a RunFailedError; a closed pipe stays a BrokenPipeError."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in NO_SPACE:
            raise
        raise RunFailedError(f"writing failed ({error.strerror}): make room, or write elsewhere") from None
