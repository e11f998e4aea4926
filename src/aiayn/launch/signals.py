"""What ends a command from outside ends it as Ctrl-C does."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt: by default they end the process at once, its work unrecorded.

    A SIGHUP that is ignored, as under nohup, stays ignored. Outside the main thread, where Python allows no handlers,
    nothing changes.
    """
    previous = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
