"""Processes that end when the command that started them is gone."""

import os
import signal
import threading
import time

from aiayn.system import machine

POLL_SECONDS = 1.0

GRACE_SECONDS = 60.0
"""How long a process that was asked to stop may take to write its checkpoint."""

STOP_SECONDS = GRACE_SECONDS + 15
"""Longest wait for a command or a job that was asked to stop: more than its workers may take for a checkpoint."""

STARTER = "AIAYN_STARTER"
"""The environment variable with the process id of the command that started a run's workers."""

PARENT_DIED = threading.Event()


def end_with_parent() -> None:
    """Send this process SIGTERM once its parent or its `STARTER` has died.

    The starter may die while this process loads libraries, and torchrun may be between the two.
    """
    parent, starter = os.getppid(), int(os.environ.get(STARTER, "0"))

    def watch() -> None:
        while os.getppid() == parent and (not starter or machine.is_alive(starter)):
            time.sleep(POLL_SECONDS)
        PARENT_DIED.set()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE_SECONDS)  # ranks that have not stopped at the same step wait for each other
        os._exit(1)

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()


def begin_launcher_process() -> None:
    """Initialize a process of a launcher's pool (aiayn.sweep.joblib).

    In a session of its own it gets no signals of the terminal: if one idle process died, the pool would kill the
    others before their checkpoints. The parent stops the jobs one by one.
    """
    os.setsid()
    end_with_parent()


def exit_if_orphaned() -> None:
    """End this process if its parent has died: the launcher may have queued more jobs for it."""
    if PARENT_DIED.is_set():
        os._exit(1)
