"""A process that was started for a command must not go on when that command is gone: nobody would know of it."""

import os
import signal
import threading
import time

from aiayn.system import machine

INTERVAL = 1.0
"""Seconds between two looks."""

GRACE_SECONDS = 60.0
"""How long a process that was asked to stop may take to write its checkpoint."""

STARTER = "AIAYN_STARTER"
"""Names, to the workers of a run, the process of the command that started them."""

ORPHANED = threading.Event()
"""Set when the parent that this process was to end with has died."""


def end_with_parent() -> None:
    """Send this process SIGTERM once its parent has died, so that it stops at the next step with a checkpoint.

    Likewise once the command has died that started it, which may have been while it was loading libraries, and between
    which and it `torchrun` may stand.
    """
    parent, starter = os.getppid(), int(os.environ.get(STARTER, "0"))

    def watch() -> None:
        while os.getppid() == parent and (not starter or machine.is_alive(starter)):
            time.sleep(INTERVAL)
        ORPHANED.set()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE_SECONDS)  # ranks that have not stopped at the same step wait for each other
        os._exit(1)

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
