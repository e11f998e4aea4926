"""Commands under test: how tests start them, and what they answer."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

AIAYN = (sys.executable, "-m", "aiayn")
SECONDS = 240.0
"""For what happens at some time, on a busy machine."""


class Said(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Of standard output, split at line feeds alone: translations may hold other characters that end lines."""
        *lines, rest = self.out.split("\n")
        assert rest == ""
        return lines

    def refuses_by(self, complaint: str) -> bool:
        """Whether all that it says is one line that begins with the complaint."""
        one_line = re.fullmatch(rf"aiayn: {re.escape(complaint)}.*\n", self.err)
        return self.code == 2 and not self.out and one_line is not None


Say = Callable[..., Said]
"""A verb, its words and `given=` on standard input, in this process."""
Train = Callable[..., int]
"""`aiayn train` on the tiny configuration, in this process; returns the exit code."""
CommandLine = Callable[..., subprocess.CompletedProcess[str]]
"""The same in a process of its own."""
Finished = Callable[..., Path]
"""The run of some words, done once."""
Find = Callable[[], Path]
"""The only run of a test."""


def until(holds: Callable[[], object], *, seconds: float = SECONDS) -> None:
    """Wait until something holds; fail after so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


def signal_at(batch: int, number: int = 15) -> str:
    """The word of a callback that sends its own process a signal, SIGTERM by default, in a micro-batch."""
    return f"+callbacks.disturber={{_target_: observers.SignalAt, batch: {batch}, number: {int(number)}}}"
