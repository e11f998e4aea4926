"""Processes that tests start and wait for."""

import sys
import time
from collections.abc import Callable

AIAYN = (sys.executable, "-m", "aiayn")
SECONDS = 240.0
"""For what happens at some time, on a busy machine."""


def until(holds: Callable[[], object], *, seconds: float = SECONDS) -> None:
    """Wait until something holds; fail after so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


def signal_at(batch: int, number: int = 15) -> str:
    """The word of a callback that sends its own process a signal, SIGTERM by default, in a micro-batch."""
    return f"+callbacks.disturber={{_target_: observers.SignalAt, batch: {batch}, number: {int(number)}}}"
