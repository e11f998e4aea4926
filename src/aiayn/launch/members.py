"""Who belongs to a process group: torchrun's agent gives each rank a session of its own, which no signal crosses.

Workers leave their numbers in a folder, so that whoever started them finds them, also where the agent is gone.
"""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aiayn.system import machine
from aiayn.system.scratch import make_scratch, remove_scratch

FOLDER = "AIAYN_GROUP"
"""Names the folder to the group's processes."""

SECONDS_TO_DIE = 10.0
"""How long killed processes are waited for: one may be stuck in a device's driver."""


@contextmanager
def group_folder() -> Iterator[Path]:
    """A folder for one group, for its numbers and for the files by which its ranks meet."""
    folder = make_scratch(Path(tempfile.gettempdir()), prefix="aiayn-group-")
    try:
        yield folder
    finally:
        forget_group(folder)


def forget_group(folder: Path) -> None:
    """Remove the folder; the group removes it too, since its command may have been killed."""
    remove_scratch(folder)


def enlist() -> None:
    """Leave this process's number, if it belongs to a group: from now on it understands signals.

    Raises:
        SystemExit: the group is gone. Nobody knows of this process, and it would wait for ranks that never come.
    """
    folder = os.environ.get(FOLDER)
    if folder is not None:
        try:
            _numbers(Path(folder)).mkdir(exist_ok=True)
            (_numbers(Path(folder)) / str(os.getpid())).touch()
        except FileNotFoundError:
            raise SystemExit(1) from None


def leave() -> None:
    """Take this process's number back: it ends as it should."""
    folder = os.environ.get(FOLDER)
    if folder is not None:
        (_numbers(Path(folder)) / str(os.getpid())).unlink(missing_ok=True)


def workers(folder: Path) -> set[int]:
    """The workers that have left their numbers and still run."""
    return {number for number in _enlisted(folder) if machine.is_alive(number)}


def fallen(folder: Path) -> set[int]:
    """The workers that have ended, and not as they should."""
    return {number for number in _enlisted(folder) if not machine.is_alive(number)}


def signal_workers(numbers: set[int], number: int) -> None:
    """Send each of them a signal."""
    for process in numbers:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def end_workers(folder: Path) -> None:
    """Kill what is left of a group, and wait until it is gone."""
    end = time.monotonic() + SECONDS_TO_DIE
    while (left := workers(folder)) and time.monotonic() < end:
        signal_workers(left, signal.SIGKILL)
        time.sleep(0.05)


def _enlisted(folder: Path) -> set[int]:
    return {int(path.name) for path in _numbers(folder).glob("*")}


def _numbers(folder: Path) -> Path:
    return folder / "workers"
