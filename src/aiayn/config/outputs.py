"""Paths of `output=`: a file or folder in an existing folder; every function raises UserError for others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aiayn.errors import UserError
from aiayn.system import files
from aiayn.system.resource_errors import file_error, is_of_writing


def output_file(output: str | None, *, suffixes: Sequence[str] = ()) -> Path | None:
    """The file to write, which is replaced if it exists; None for the terminal; no `suffixes`: any one is taken."""
    if output is None:
        return None
    path = _in_a_folder(output)
    if files.is_dir(path, key="output"):
        raise UserError(f"output={output}: is a folder; state a file in it")
    if suffixes and path.suffix not in suffixes:
        raise UserError(f"output={output}: the suffix says the format; choose from {', '.join(suffixes)}")
    return path


def output_folder(output: str, *, key: str = "output") -> Path:
    """The folder to write to, which may exist; `key` is the one that the user stated."""
    path = _in_a_folder(output, key)
    if files.exists(path, key=key) and not files.is_dir(path):
        raise UserError(f"{key}={output}: is a file; state a folder")
    return path


def new_output(output: str) -> Path:
    """The file or folder to make, which must not exist."""
    path = _in_a_folder(output)
    if path.is_symlink() or files.exists(path, key="output"):
        raise UserError(f"output={output}: exists already; remove it or state another")
    return path


def _in_a_folder(output: str, key: str = "output") -> Path:
    path = Path(output).expanduser()
    files.exists(path, key=key)  # refuses a place that this user may not look into
    if files.exists(path.parent) and not files.is_dir(path.parent):
        raise UserError(f"{key}={output}: {path.parent} is a file; state another place")
    if not files.is_dir(path.parent):
        raise UserError(f"{key}={output}: there is no folder {path.parent}; make it, or state another place")
    return path


@contextmanager
def output_errors(output: str | None) -> Iterator[None]:
    """Turn an OSError into a UserError: about the output if it is one of writing, else about the file that it names."""
    try:
        yield
    except OSError as error:
        if error.filename is None and output is None:  # of standard output
            raise
        if output is None or not is_of_writing(error):
            raise file_error(error) from error
        raise UserError(f"output={output}: {error.strerror}; choose another place") from error
