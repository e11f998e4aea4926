"""What ends a command from outside ends it as Ctrl-C does."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""What asks a process to end, beside Ctrl-C; SIGUSR1 is how Slurm announces that its time is up."""


class SignalledInterrupt(KeyboardInterrupt):
    """A KeyboardInterrupt that knows where it comes from."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = signal.Signals(number)


@contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """Let these signals raise KeyboardInterrupt: by default they end the process at once, its work unrecorded.

    A SIGHUP that is ignored, as under nohup, stays ignored. Outside the main thread, where Python allows no handlers,
    nothing changes.
    """
    previous = {}
    if threading.current_thread() is threading.main_thread():
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    raise SignalledInterrupt(number)


def hear_nothing_more() -> None:
    """Let a process that is ending anyway come to its end, whoever asks it to once more."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, *ENDING):
            signal.signal(number, lambda *_: None)
