"""A worker must not go on when the command that started it is gone: nobody would know of it."""

import os
import signal
import threading
import time

INTERVAL = 1.0
"""Seconds between two looks."""


def end_with_parent() -> None:
    """Send this process SIGTERM once its parent has died, so that it stops at the next step with a checkpoint."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(INTERVAL)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()
