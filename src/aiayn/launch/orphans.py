"""A process that was started for a command must not go on when that command is gone: nobody would know of it."""

import os
import signal
import threading
import time

INTERVAL = 1.0
"""Seconds between two looks."""

ORPHANED = threading.Event()
"""Set when the parent that this process was to end with has died."""


def end_with_parent() -> None:
    """Send this process SIGTERM once its parent has died, so that it stops at the next step with a checkpoint."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(INTERVAL)
        ORPHANED.set()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()


def begin_launcher_process() -> None:
    """Begin a process that does jobs for a launcher (conf/hydra/joblib_launcher.yaml).

    A Ctrl-C, or a closed terminal, reaches every process of the foreground group at once. One without a job would die
    of it, and its pool would then kill the others before they have written their checkpoints: signals are for the
    parent, which stops the jobs one by one.
    """
    os.setsid()
    end_with_parent()


def exit_if_orphaned() -> None:
    """End this process at once where its parent has died: what does jobs for a launcher may have more in its queue."""
    if ORPHANED.is_set():
        os._exit(1)
