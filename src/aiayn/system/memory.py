"""Memory that does not suffice is for the user to mend: one line instead of a traceback."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from aiayn.errors import RunFailedError

SHORTAGE = re.compile(r"out of memory|can't allocate memory|bad_alloc", re.IGNORECASE)
"""What torch says on any device; on CPUs it has no error of its own for it."""


@contextmanager
def shortage_explained(remedy: str) -> Iterator[None]:
    """Turn a shortage of memory into a failure of the run; every other error passes.

    Args:
        remedy: what to lower, such as `decoding.batch_tokens`.

    Raises:
        RunFailedError: memory did not suffice.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not SHORTAGE.search(str(error)):
            raise
        raise RunFailedError(f"memory does not suffice: lower {remedy}") from error
