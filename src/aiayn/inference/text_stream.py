"""Text from standard input to standard output, a window of lines at a time, so that memory does not grow with it."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from aiayn.data.lines import decoded_lines
from aiayn.errors import RunFailedError, UserError
from aiayn.system.progress import Bar

Item = TypeVar("Item")

INPUT = "standard input"


def input_lines() -> Iterator[str]:
    """Yield each line of standard input as soon as it is there.

    Raises:
        UserError: it cannot be read, or a line is not UTF-8; those before it have been yielded.
    """
    if sys.stdin is None:
        raise UserError(f"{INPUT} is closed; give it text, as in < in.txt")
    try:
        yield from decoded_lines(sys.stdin.buffer, INPUT)
    except OSError as error:
        raise UserError(f"{INPUT} cannot be read ({error.strerror})") from error


def input_is_terminal() -> bool:
    """Whether somebody types standard input and waits for each line's answer."""
    return sys.stdin is not None and sys.stdin.isatty()


def windows(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    """Cut a stream into lists of `size` items, the last one shorter; never reads further than the list it yields.

    A mistake in the stream is raised after the list of the items before it.
    """
    mistake = None
    while mistake is None:
        window: list[Item] = []
        try:
            window.extend(islice(items, size))
        except UserError as error:
            mistake = error
        if window:
            yield window
        if len(window) < size:
            break
    if mistake is not None:
        raise mistake


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output as UTF-8, whatever the locale, and flush.

    Raises:
        BrokenPipeError: nobody reads them any more.
        RunFailedError: they cannot be written, as on a full disk.
    """
    if sys.stdout is None:
        raise RunFailedError("standard output is closed")
    try:
        sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more when it ends
        raise RunFailedError(f"standard output cannot be written ({error.strerror})") from error


@contextmanager
def progress_bar(description: str, unit: str) -> Iterator[Callable[[int], object]]:
    """Count on standard error where it is a terminal, unless the terminal shows the results or is typed at."""
    others = (sys.stdin, sys.stdout)
    if any(stream is not None and stream.isatty() for stream in others):
        yield lambda _: None
        return
    with Bar(description, unit=unit) as bar:
        yield bar.advance
