"""The words that `ps` shows of a process that was forked to do something else than what its command line says."""

import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path

ROOM = " " * 4000
"""A last argument, to be overwritten: a process's words can only be as long as they were when it was started."""


def retitle(words: Sequence[str]) -> None:
    """Have `ps` and `pgrep -f` show these words of this process; where that cannot be, they show the old ones."""
    if sys.platform != "linux":
        return
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return
    start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5), which counts from the process id
    text = b"\0".join(word.encode(errors="surrogateescape") for word in words)
    if 0 < start < end:
        ctypes.memmove(start, text[: end - start - 1].ljust(end - start, b"\0"), end - start)
