"""Paths of `output=`: a file or folder in an existing folder; others are UserErrors. And standard output."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aiayn.errors import RunFailedError, UserError


def output_file(output: str | None) -> Path | None:
    """The file to write, which is replaced if it exists; None for the terminal."""
    if output is None:
        return None
    path = _in_a_folder(output)
    if path.is_dir():
        raise UserError(f"output={output}: is a folder; state a file in it")
    return path


def output_folder(output: str) -> Path:
    """The folder to write to, which may exist."""
    path = _in_a_folder(output)
    if path.exists() and not path.is_dir():
        raise UserError(f"output={output}: is a file; state a folder")
    return path


def new_output(output: str) -> Path:
    """The file or folder to make, which must not exist."""
    path = _in_a_folder(output)
    if path.exists() or path.is_symlink():
        raise UserError(f"output={output}: exists already; remove it or state another")
    return path


def _in_a_folder(output: str) -> Path:
    path = Path(output).expanduser()
    if path.parent.exists() and not path.parent.is_dir():
        raise UserError(f"output={output}: {path.parent} is a file; state another place")
    if not path.parent.is_dir():
        raise UserError(f"output={output}: there is no folder {path.parent}; make it, or state another place")
    return path


@contextmanager
def output_errors(output: str | None) -> Iterator[None]:
    """Turn an OSError into a UserError about the output, or the file that is read if `output` is None."""
    try:
        yield
    except OSError as error:
        if error.filename is None and output is None:  # of standard output; see `stdout_errors`
            raise
        if output is None:
            raise UserError(f"{error.filename}: {error.strerror}; mend the path or its permissions") from error
        raise UserError(f"output={output}: {error.strerror}; choose another place") from error


@contextmanager
def stdout_errors() -> Iterator[None]:
    """Turn a failed write to standard output, as on a full disk, into a RunFailedError; a closed pipe stays one."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the exit
        raise RunFailedError(f"writing failed ({error.strerror}): make room, or write elsewhere") from None
