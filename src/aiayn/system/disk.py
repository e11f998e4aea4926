"""A disk that takes no more is for the user to mend: one line instead of a traceback."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from aiayn.errors import UserError

REFUSALS = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.ENAMETOOLONG,
    errno.ENOSPC,
    errno.EPERM,
    errno.EROFS,
}
"""How a file system says that it does not take what is written."""


@contextmanager
def refusals_explained(setting: str) -> Iterator[None]:
    """Turn the refusal of a file system into the user's error; every other error passes.

    Args:
        setting: the key and value that chose the folder, such as `paths.runs=runs`.

    Raises:
        UserError: nothing could be written.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        where = f" to {error.filename}" if error.filename else ""
        raise UserError(
            f"{setting}: cannot write{where} ({error.strerror}); free space there or choose another folder"
        ) from error
