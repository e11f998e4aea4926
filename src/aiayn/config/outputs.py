"""Paths of `output=`: a file or folder in an existing folder; every function raises UserError for others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aiayn.errors import UserError


def output_file(output: str | None, *, suffixes: Sequence[str] = ()) -> Path | None:
    """The file to write, which is replaced if it exists; None for the terminal; no `suffixes`: any one is taken."""
    if output is None:
        return None
    path = _in_a_folder(output)
    if path.is_dir():
        raise UserError(f"output={output}: is a folder; state a file in it")
    if suffixes and path.suffix not in suffixes:
        raise UserError(f"output={output}: the suffix says the format; choose from {', '.join(suffixes)}")
    return path


def output_folder(output: str, *, key: str = "output") -> Path:
    """The folder to write to, which may exist; `key` is the one that the user stated."""
    path = _in_a_folder(output, key)
    if path.exists() and not path.is_dir():
        raise UserError(f"{key}={output}: is a file; state a folder")
    return path


def new_output(output: str) -> Path:
    """The file or folder to make, which must not exist."""
    path = _in_a_folder(output)
    if path.exists() or path.is_symlink():
        raise UserError(f"output={output}: exists already; remove it or state another")
    return path


def _in_a_folder(output: str, key: str = "output") -> Path:
    path = Path(output).expanduser()
    if path.parent.exists() and not path.parent.is_dir():
        raise UserError(f"{key}={output}: {path.parent} is a file; state another place")
    if not path.parent.is_dir():
        raise UserError(f"{key}={output}: there is no folder {path.parent}; make it, or state another place")
    return path


@contextmanager
def output_errors(output: str | None) -> Iterator[None]:
    """Turn an OSError into a UserError about the output, or the file that is read if `output` is None."""
    try:
        yield
    except OSError as error:
        if error.filename is None and output is None:  # of standard output
            raise
        if output is None:
            raise UserError(f"{error.filename}: {error.strerror}; correct the path or its permissions") from error
        raise UserError(f"output={output}: {error.strerror}; choose another place") from error
