"""The ledger: every run below a folder, and how it stands now."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, Status, read_record

TAIL_BYTES = 16_384
"""Read from the end of metrics.jsonl: many times its longest line."""


class State(StrEnum):
    """How a run stands: its record's status, or what became of it since that was written."""

    running = "running"
    finished = "finished"
    trial = "trial"
    """It has finished, and is no result; see `trial_reason`."""
    failed = "failed"
    interrupted = "interrupted"
    killed = "killed"
    """The record says running, and the process is gone; the same command takes it up again."""
    unreadable = "unreadable"


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    directory: RunDirectory
    state: State
    record: Record | None
    """None where it cannot be read."""
    step: int
    """Optimizer steps done, as far as was logged."""
    seconds: float
    """Wall time of training so far."""
    message: str | None
    """Why it failed, stopped, or cannot be read."""
    latest: Mapping[str, float] = field(default_factory=dict)
    """The newest value of each metric, where the record does not tell how far it came."""

    @property
    def seconds_left(self) -> float | None:
        """At the speed so far; None unless the run is training."""
        if self.state is not State.running or self.record is None or not self.record.max_steps or not self.step:
            return None
        return self.seconds / self.step * (self.record.max_steps - self.step)


@dataclass(frozen=True)
class SweptJob:
    """One job of a sweep of `aiayn train`; its run may not exist where the job was refused."""

    experiment: str
    seed: int
    overrides: tuple[str, ...]
    """All that it was composed with, in the order of the command line."""
    directory: RunDirectory
    swept: tuple[str, ...] = ()
    """What it has for the keys that are swept, as in dropout=0.3; the experiment and the seed aside."""
    was_refused: bool | None = None
    """Whether the job itself was refused, or failed; None where only its run can tell, by having a record or not."""


def run_directories(runs: Path) -> list[RunDirectory]:
    """Every run directory below a folder, by path.

    Raises:
        UserError: there is no such folder.
    """
    if not runs.is_dir():
        raise UserError(f"paths.runs={runs}: no such folder; aiayn train makes it, or name another")
    return [RunDirectory(path.parent) for path in sorted(runs.rglob("run.json"))]


def read_ledger(runs: Path) -> list[Entry]:
    """Every run below a folder, by path.

    Raises:
        UserError: there is no such folder.
    """
    return [read_entry(directory) for directory in run_directories(runs)]


def read_results(runs: Path) -> list[Entry]:
    """Every run below a folder that is a result, or may become one, by path: trials never do.

    Raises:
        UserError: there is no such folder.
    """
    return [entry for entry in read_ledger(runs) if entry.record is None or entry.record.trial is None]


def read_entry(directory: RunDirectory) -> Entry:
    """How one run stands."""
    try:
        record = read_record(directory.record)
        return _entry(directory, record)
    except UserError as error:
        return Entry(directory, State.unreadable, None, 0, 0.0, str(error))


def _entry(directory: RunDirectory, record: Record) -> Entry:
    if record.status not in (Status.running, Status.failed):
        is_trial = record.status is Status.finished and record.trial is not None
        state = State.trial if is_trial else State(record.status)
        message = f"{record.trial}: in no report" if is_trial else record.message
        return Entry(directory, state, record, record.steps, record.seconds, message)
    logged = _latest_metrics(directory.metrics)  # who was killed has not counted its steps
    step = max(record.steps, int(logged.get("step", 0)))
    seconds = max(record.seconds, logged.get("train/seconds", 0.0))
    if record.status is Status.failed:
        return Entry(directory, State.failed, record, step, seconds, record.message, logged)
    holder = directory.holder
    state = State.killed if holder is None else State.running
    return Entry(directory, state, record, step, seconds, holder or "the same command takes it up again", logged)


def _latest_metrics(metrics: Path) -> dict[str, float]:
    """The newest number of each metric in the last lines, and the step of the last one; empty where none is whole.

    Raises:
        UserError: a line holds something else.
    """
    try:
        with metrics.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = stream.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    latest: dict[str, float] = {}
    for line in lines:
        if line.startswith("{") and line.endswith("}"):
            try:
                row = json.loads(line)
                latest |= {str(key): float(value) for key, value in row.items() if value is not None}
            except (TypeError, ValueError) as error:
                raise UserError(f"{metrics}: a line of it holds no numbers ({error}); mend or remove it") from error
    return latest
