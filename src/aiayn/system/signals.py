"""Signals that end a command, handled like Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

CTRL_C = signal.SIGUSR2
"""Passes a Ctrl-C on to other processes: SIGINT would show the traceback of one that still loads libraries."""

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, CTRL_C)
"""Signals that ask a process to end, beside SIGINT; Slurm announces the end of the time limit by SIGUSR1."""

INTERRUPTING = (signal.SIGINT, *ENDING)


class SignalledInterrupt(KeyboardInterrupt):
    """A KeyboardInterrupt that names the signal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = signal.Signals(number)


def name_of(number: int) -> str:
    """Such as SIGTERM, or Ctrl-C."""
    return "Ctrl-C" if number in (signal.SIGINT, CTRL_C) else signal.Signals(number).name


def passed_on(error: BaseException) -> signal.Signals:
    """The signal that passes an interrupt on to other processes; SIGTERM for any other error."""
    if isinstance(error, SignalledInterrupt):
        return error.signal
    return CTRL_C if isinstance(error, KeyboardInterrupt) else signal.SIGTERM


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Let the signals of `ENDING` raise KeyboardInterrupt, except those ignored before, such as SIGHUP under nohup.

    Outside the main thread, where Python allows no handlers, nothing changes.
    """
    handled = [each for each in ENDING if in_main_thread() and signal.getsignal(each) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, _interrupt) for number in handled}
    try:
        yield
    finally:
        _raised.clear()
        for number, handler in previous.items():
            signal.signal(number, handler)


_raised: list[int] = []
"""Signals that raised an interrupt within `signals_as_interrupts`."""


def raised_signal() -> int:
    """The first signal that raised an interrupt in this `signals_as_interrupts`; 0: none.

    A library that catches every exception, as some do while they are imported, swallows the interrupt.
    """
    return _raised[0] if _raised else 0


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    _raised.append(number)
    raise SignalledInterrupt(number)


@contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C, unlike other signals, end the block without an error: it is how watching ends."""
    try:
        yield
    except KeyboardInterrupt as error:
        if isinstance(error, SignalledInterrupt):
            raise


def ignore_signals() -> None:
    """Ignore all further requests to end."""
    if in_main_thread():
        for number in INTERRUPTING:
            signal.signal(number, lambda *_: None)


def in_main_thread() -> bool:
    """Whether this thread may set signal handlers."""
    return threading.current_thread() is threading.main_thread()
