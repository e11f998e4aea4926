"""Where commands write: `output=` names a file or folder in a folder that is there; none is made above it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiayn.errors import UserError


def output_file(output: str | None) -> Path | None:
    """The file to write, or None for the terminal; one that is there is replaced.

    Args:
        output: as typed.

    Raises:
        UserError: its folder is not there, or it is a folder itself.
    """
    if output is None:
        return None
    path = _in_a_folder(output)
    if path.is_dir():
        raise UserError(f"output={output}: is a folder; state a file in it")
    return path


def output_folder(output: str) -> Path:
    """The folder to write to, which may be there or be made.

    Args:
        output: as typed.

    Raises:
        UserError: the folder above it is not there, or it is a file.
    """
    path = _in_a_folder(output)
    if path.exists() and not path.is_dir():
        raise UserError(f"output={output}: is a file; state a folder")
    return path


def new_output(output: str) -> Path:
    """The file or folder to make, where nothing may be yet.

    Args:
        output: as typed.

    Raises:
        UserError: the folder above it is not there, or it is there itself.
    """
    path = _in_a_folder(output)
    if path.exists() or path.is_symlink():
        raise UserError(f"output={output}: is there already; remove it or state another")
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
    """Turn an OSError into one line.

    Args:
        output: the file or folder that is written; None where files are only read.

    Raises:
        UserError: naming the output, or the file that cannot be read.
    """
    try:
        yield
    except OSError as error:
        if output is None:
            raise UserError(f"{error.filename}: {error.strerror}; mend the path or its permissions") from error
        raise UserError(f"output={output}: {error.strerror}; choose another place") from error
