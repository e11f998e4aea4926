"""Standard streams that were closed when this process was started, as by `aiayn status >&-`."""

import os
import sys
from io import TextIOWrapper

_closed: set[str] = set()


def open_closed_streams() -> None:
    """Open the null device in place of closed standard streams, so that output is dropped and nothing else fails.

    Otherwise Python has None for them, and the next file opened takes the descriptor, which child processes write to.
    `sys.stdin` stays None: a command that reads it says that it is closed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None and name not in _closed:
            _closed.add(name)
            descriptor = os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor: that of the stream
            os.set_inheritable(descriptor, descriptor == number)
            if name != "stdin":
                setattr(sys, name, open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def allow_any_path() -> None:
    """Let standard output show any text, as of paths that are not UTF-8 or not in its encoding, instead of failing.

    In the locale C its errors are "surrogateescape", which fails at other surrogates.
    """
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        sys.stdout.reconfigure(errors="backslashreplace")


def is_output_closed() -> bool:
    """Whether standard output was closed."""
    return sys.stdout is None or "stdout" in _closed
