"""Text from standard input to standard output, a window of lines at a time, in bounded memory."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from aiayn.data.lines import decoded_lines
from aiayn.errors import RunFailedError, UserError
from aiayn.system.progress import Bar
from aiayn.system.streams import is_output_closed

Item = TypeVar("Item")

INPUT = "standard input"


def input_lines() -> Iterator[str]:
    """Yield each line of standard input as soon as it has arrived; UserError if it is not readable UTF-8."""
    if sys.stdin is None:
        raise UserError(f"{INPUT} is closed; give it text, as in < in.txt")
    try:
        yield from decoded_lines(sys.stdin.buffer, INPUT)
    except OSError as error:
        raise UserError(f"{INPUT} cannot be read ({error.strerror})") from error


def window_size(stated: int) -> int:
    """Lines to read ahead; 1 if a terminal on standard input expects immediate answers."""
    return 1 if sys.stdin is not None and sys.stdin.isatty() else stated


def windows(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    """Cut a stream into lists of `size` items, the last one shorter, without reading ahead of the list yielded.

    An error in the stream is raised after the list of the items before it.
    """
    window: list[Item] = []
    try:
        for item in items:
            window.append(item)
            if len(window) == size:
                yield window
                window = []
    except UserError:
        if window:
            yield window
        raise
    if window:
        yield window


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output as UTF-8 in any locale, and flush.

    Raises:
        BrokenPipeError: the reader has closed the pipe.
        RunFailedError: they cannot be written, as on a full disk.
    """
    if is_output_closed():
        raise RunFailedError("standard output is closed; give it a place, as in > out.txt")
    try:
        sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at exit
        raise RunFailedError(f"standard output cannot be written ({error.strerror})") from error


@contextmanager
def progress_bar(description: str, unit: str) -> Iterator[Callable[[int], object]]:
    """Show progress on standard error if it is a terminal and standard input and output are not."""
    if any(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        yield lambda _: None
        return
    with Bar(description, unit=unit) as bar:
        yield bar.advance
