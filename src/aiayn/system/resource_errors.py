"""A full disk or a shortage of memory in one line instead of a traceback."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from aiayn.errors import RunFailedError, UserError
from aiayn.system.files import WriteError
from aiayn.system.torch_internals import is_shortage

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

NO_SPACE = {errno.EDQUOT, errno.EFBIG, errno.ENOSPC, errno.EROFS}
"""Error numbers that only a write can have."""


@contextmanager
def disk_errors_explained(setting: str) -> Iterator[None]:
    """Turn a refused write into a UserError that names the setting, such as `paths.runs=runs`.

    Another refusal becomes a UserError that names the file alone: it may have been read, and is not the setting's.
    """
    try:
        yield
    except OSError as error:
        if not isinstance(error, WriteError) and error.errno not in DISK_ERRORS:
            raise
        if not is_of_writing(error):
            raise file_error(error) from error
        where = f" to {error.filename}" if error.filename else ""
        remedy = "free space there or choose another folder"
        if error.errno == errno.ENOENT:
            remedy = "the folder was removed or moved: bring it back, or rerun the command"
        elif error.errno not in DISK_ERRORS:
            remedy = "remove what is in its place"
        raise UserError(f"{setting}: cannot write{where} ({error.strerror}); {remedy}") from error


def is_of_writing(error: OSError) -> bool:
    """Whether an error is one of writing: by its class, its number, or as it comes from a stream without a name."""
    return isinstance(error, WriteError) or error.errno in NO_SPACE or error.filename is None


def file_error(error: OSError) -> UserError:
    """The UserError for a file or folder, which the error names, that can be read or written no more."""
    return UserError(f"{error.filename}: {error.strerror}; correct the path or its permissions")


@contextmanager
def file_errors_explained() -> Iterator[None]:
    """Turn an OSError that names a file into a UserError; others pass."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise file_error(error) from error


@contextmanager
def memory_errors_explained(remedy: str) -> Iterator[None]:
    """Turn a shortage of memory into a RunFailedError that names the settings to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not is_shortage(error):
            raise
        raise RunFailedError(f"memory does not suffice: lower {remedy}") from error


def is_of_output(error: BaseException) -> bool:
    """Whether standard output refused a write: a full disk is under it, or its reader closed the pipe."""
    is_full = isinstance(error, OSError) and error.filename is None and error.errno in NO_SPACE
    return is_full or isinstance(error, BrokenPipeError)


@contextmanager
def stdout_errors_explained() -> Iterator[None]:
    """Turn a full disk under standard output into a RunFailedError; a closed pipe stays a BrokenPipeError."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if isinstance(error, BrokenPipeError) or not is_of_output(error):
            raise
        raise RunFailedError(f"writing failed ({error.strerror}): make room, or write elsewhere") from None
