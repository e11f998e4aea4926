"""What went wrong on each rank, told in files: whoever saw another rank go does not know why it went."""

import json
import re
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum

from aiayn.runs.directory import RunDirectory
from aiayn.system import files

SECONDS_TO_TELL = 3.0
"""How long the leader, which has lost a rank, waits for what that rank has to say."""


class Kind(StrEnum):
    """What became of a rank that did not finish."""

    refused = "refused"
    """It found a mistake of the user."""
    failed = "failed"
    killed = "killed"
    """Its process was ended by a signal that leaves no time for a word."""
    interrupted = "interrupted"
    lost = "lost"
    """It lost contact with another."""


CAUSES = (Kind.refused, Kind.failed, Kind.killed)
"""What explains that other ranks were lost."""


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
        """For the user: the leader speaks for the run, the others are named."""
        return self.message if self.rank == 0 or self.kind is Kind.killed else f"rank {self.rank}: {self.message}"


def write_failure(directory: RunDirectory, *, rank: int, kind: Kind, message: str) -> None:
    """Tell the others; where the disk takes nothing more they have to do without."""
    failure = Failure(rank, kind, message, time.time())
    with suppress(OSError):
        files.write_text(directory.failures / f"rank-{rank}.json", json.dumps(asdict(failure)))


def read_failures(directory: RunDirectory) -> list[Failure]:
    """What every rank has told, by rank."""
    found = []
    for path in directory.failures.glob("rank-*.json"):
        if re.fullmatch(r"rank-\d+\.json", path.name):
            content = json.loads(path.read_text(encoding="utf-8"))
            found.append(Failure(**{**content, "kind": Kind(content["kind"])}))
    return sorted(found, key=lambda failure: failure.rank)


def forget_failures(directory: RunDirectory) -> None:
    """Remove what an earlier attempt told."""
    for path in directory.failures.glob("*"):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # there is none
        directory.failures.rmdir()


def cause_of(failures: Iterable[Failure]) -> Failure | None:
    """The failure that explains the others, or None where each has only lost another.

    Ranks that fail alike, as where the loss diverges, are spoken for by the first of them.
    """
    causes = sorted((each for each in failures if each.kind in CAUSES), key=lambda failure: failure.seconds)
    alike = [each for each in causes if each.message == causes[0].message]
    return min(alike, key=lambda failure: failure.rank, default=None)


def awaited_cause(directory: RunDirectory) -> Failure | None:
    """The cause, as soon as it is told; None where nobody tells one in time."""
    end = time.monotonic() + SECONDS_TO_TELL
    while (cause := cause_of(read_failures(directory))) is None and time.monotonic() < end:
        time.sleep(0.05)
    return cause


def last_words(exit_code: int) -> str:
    """What became of a process that said nothing.

    Args:
        exit_code: as `subprocess` reports it, negative for a signal.
    """
    if exit_code >= 0:
        return f"ended with code {exit_code}"
    name = signal.Signals(-exit_code).name
    return f"was killed by {name}" + (": the kernel does so where memory runs out" if name == "SIGKILL" else "")
