"""The states of submitted jobs by `squeue`: `sacct` is empty on clusters without accounting."""

import logging
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from aiayn.errors import RunFailedError
from aiayn.launch.ranks import cause_of, read_failures
from aiayn.launch.slurm import run_command
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record
from aiayn.sweep.scheduled import fail_record
from aiayn.system import files

logger = logging.getLogger("aiayn")

FINAL = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)
"""States that a job does not leave, unless it is requeued at that moment."""

GONE = "gone from the queue"

ATTEMPT = "aiayn: the job begins"
"""In a job's log, each time that Slurm starts it."""


@dataclass(frozen=True)
class QueuedJob:
    """A job in the queue."""

    state: str
    reason: str
    """Why it is pending, such as Priority or Resources."""

    def __str__(self) -> str:
        waits = self.state == "PENDING" and self.reason not in ("", "None")
        return f"{self.state.lower()} ({self.reason})" if waits else self.state.lower()


def read_queue(text: str) -> dict[str, QueuedJob]:
    """Parse lines such as `12_1|PENDING|Priority`; jobs by id."""
    rows = (line.split("|", 2) for line in text.splitlines() if line.count("|") >= 2)
    return {job.strip(): QueuedJob(state.strip(), reason.strip().strip("()")) for job, state, reason in rows}


def lost_task(log: Path) -> str | None:
    """The first rank that was killed in the last attempt of a job, by the log of `srun`: "rank 1 on n2: Killed"."""
    text = log.read_text(encoding="utf-8", errors="replace") if files.is_file(log) else ""
    line = re.compile(r"^srun: error: (\S+): tasks? (\S+): (?!Exited|Terminated)(.+)", re.MULTILINE)
    found = line.search(text.rpartition(ATTEMPT)[2])
    return None if found is None else f"rank {found[2]} on {found[1]}: {found[3]}"


class Queue:
    """The queue of Slurm. A job has ended when two looks in a row show a final state or do not find it."""

    def __init__(self) -> None:
        self._suspects: dict[str, str] = {}
        self._is_silent = False

    def look(self, jobs: Collection[str]) -> tuple[dict[str, QueuedJob], dict[str, str]] | None:
        """The queued jobs among some ids, and the final states of those that have ended; None without an answer."""
        words = ["squeue", "--me", "--array", "--states=all", "--noheader", "--format=%i|%T|%r"]
        try:
            found = read_queue(run_command(words))
        except RunFailedError as error:
            if not self._is_silent:
                logger.warning("Slurm does not answer (%s); still waiting for the jobs", error)
            self._is_silent = True
            return None
        if self._is_silent:
            logger.info("Slurm answers again")
        self._is_silent = False
        there = {job: found[job] for job in jobs if job in found and found[job].state not in FINAL}
        suspects = {job: found[job].state if job in found else GONE for job in jobs if job not in there}
        ended = {job: state for job, state in suspects.items() if job in self._suspects}
        self._suspects = suspects
        return there, ended


def explain_end(job: str, state: str, *, directory: RunDirectory | None, log: Path) -> str:
    """Why a job ended in a state of Slurm without an outcome; the record of its run is corrected if it says running."""
    if not files.exists(log):
        return f"Slurm job {job}: cancelled before it began"
    message = f"Slurm job {job}: {state}"
    if directory is None or not files.is_file(directory.record):
        return f"{message}; see {log}"
    record = read_record(directory.record)
    cause = cause_of(read_failures(directory))
    words = lost_task(log) if cause is None else cause.text
    if words is None and record.status is Status.failed:
        words = record.message
    message = f"{message}{'' if words is None else f', {words}'}; see {log}"
    fail_record(directory, message)
    return message
