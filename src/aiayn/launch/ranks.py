"""The ranks of a process group on one host: their process ids and failures, in files.

torchrun's agent gives each rank a session of its own, so signals must be sent to each. A rank that lost contact with
another reads the reason in the other's file.
"""

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from aiayn.runs.directory import RunDirectory
from aiayn.system import files, machine
from aiayn.system.documents import read_as
from aiayn.system.scratch import make_temporary, remove_scratch

FOLDER = "AIAYN_GROUP"
"""The environment variable with the group's folder."""

WORKERS = "workers"
"""Below it: a file for each worker, named by its process id."""

KILL_SECONDS = 10.0
"""Longest wait for killed processes: one may be stuck in a device's driver."""

CAUSE_SECONDS = 3.0
"""Longest wait of the first rank for the failure of a rank that it lost."""


@contextmanager
def group_folder() -> Iterator[Path]:
    """A temporary folder for the process ids of one group and the files through which its ranks meet."""
    folder = make_temporary(prefix="aiayn-group-")
    try:
        yield folder
    finally:
        remove_scratch(folder)


def register() -> None:
    """Write this process's id to the group's folder, if it has one: from now on it handles signals.

    Raises:
        SystemExit: the folder is gone, and with it the command; this process would wait for the other ranks forever.
    """
    if FOLDER in os.environ:
        try:
            _own_id().parent.mkdir(exist_ok=True)
            _own_id().touch()
        except FileNotFoundError:
            raise SystemExit(1) from None


def unregister() -> None:
    """Remove this process's id, before it ends successfully."""
    if FOLDER in os.environ:
        _own_id().unlink(missing_ok=True)


def running(folder: Path) -> set[int]:
    """The registered processes that still run."""
    return {process for process in _registered(folder) if machine.is_alive(process)}


def exited(folder: Path) -> set[int]:
    """The registered processes that ended without success."""
    return {process for process in _registered(folder) if not machine.is_alive(process)}


def send_signal(processes: set[int], number: int) -> None:
    """Send a signal to each process that still exists."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def kill_running(folder: Path) -> None:
    """Kill the registered processes and wait until they are gone."""
    end = time.monotonic() + KILL_SECONDS
    while (left := running(folder)) and time.monotonic() < end:
        send_signal(left, signal.SIGKILL)
        time.sleep(0.05)


def _registered(folder: Path) -> set[int]:
    return {int(path.name) for path in (folder / WORKERS).glob("*")}


def _own_id() -> Path:
    return Path(os.environ[FOLDER], WORKERS, str(os.getpid()))


class Kind(StrEnum):
    """How a rank ended that did not finish."""

    refused = "refused"
    """By a `UserError`."""
    failed = "failed"
    killed = "killed"
    """It could not write its failure itself."""
    interrupted = "interrupted"
    lost = "lost"
    """It lost contact with another rank."""


WHY = {
    "SIGBUS": ": the kernel does so when a file of the prepared corpus was cut off, or its disk fails",
    "SIGKILL": ": the kernel does so when memory runs out",
}
"""Reasons for which the kernel sends signals."""

CAUSES = (Kind.refused, Kind.failed, Kind.killed)
"""The kinds that explain why other ranks were lost."""


@dataclass(frozen=True)
class Failure:
    """The end of one rank."""

    rank: int
    kind: Kind
    message: str
    seconds: float
    """Since the epoch."""

    @property
    def text(self) -> str:
        """The message for the user, with the rank unless it is the first."""
        return self.message if self.rank == 0 or self.kind is Kind.killed else f"rank {self.rank}: {self.message}"


def write_failure(directory: RunDirectory, *, rank: int, kind: Kind, message: str) -> None:
    """Write a rank's failure to the run directory, if it still exists and the disk takes it."""
    failure = Failure(rank, kind, message, time.time())
    with suppress(OSError):
        files.require_folder(directory.path)
        files.write_text(directory.failures / f"rank-{rank}.json", json.dumps(asdict(failure)))


def read_failures(directory: RunDirectory) -> list[Failure]:
    """The failures that were written, by rank."""
    found = (read_as(Failure, path, remedy="rerun the command") for path in directory.failures.glob("rank-*.json"))
    return sorted(found, key=lambda failure: failure.rank)


def clear_failures(directory: RunDirectory) -> None:
    """Remove the failures of earlier attempts."""
    for path in directory.failures.glob("*"):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # the folder does not exist
        directory.failures.rmdir()


def cause_of(failures: Iterable[Failure]) -> Failure | None:
    """The earliest failure that explains the others; of several with its message, the one of the lowest rank."""
    causes = sorted((each for each in failures if each.kind in CAUSES), key=lambda failure: failure.seconds)
    same = [each for each in causes if each.message == causes[0].message]
    return min(same, key=lambda failure: failure.rank, default=None)


def wait_for_cause(directory: RunDirectory) -> Failure | None:
    """The cause as soon as it is written; None after `CAUSE_SECONDS`."""
    end = time.monotonic() + CAUSE_SECONDS
    while (cause := cause_of(read_failures(directory))) is None and time.monotonic() < end:
        time.sleep(0.05)
    return cause


def exit_text(exit_code: int) -> str:
    """How a process ended that wrote no failure; the code is negative for a signal, as in `subprocess`."""
    if exit_code >= 0:
        return f"ended with code {exit_code}"
    name = signal.Signals(-exit_code).name
    return f"was killed by {name}{WHY.get(name, '')}"
