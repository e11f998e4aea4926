"""The ledger: the runs below a folder, and their present state."""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from aiayn.errors import UserError
from aiayn.registry import studies_module
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, Status, read_record
from aiayn.runs.search import search_runs
from aiayn.system import files

logger = logging.getLogger("aiayn")

TAIL_BYTES = 16_384
"""Read from the end of metrics.jsonl; many times its longest line."""


class State(StrEnum):
    """The state of a run: its record's status, or a later one."""

    running = "running"
    finished = "finished"
    trial = "trial"
    """Finished, but not a result; see `aiayn.config.third_parties`."""
    failed = "failed"
    interrupted = "interrupted"
    imported = "imported"
    """A model of another library: in no table of runs."""
    killed = "killed"
    """The record says running, but the process is gone."""
    unreadable = "unreadable"
    """Its record cannot be read, or there is a folder that may hold runs and cannot be searched."""


@dataclass(frozen=True)
class Entry:
    """The state of one run."""

    directory: RunDirectory
    state: State
    record: Record | None
    """None if it cannot be read."""
    step: int
    """Optimizer steps done, as far as logged."""
    seconds: float
    """Wall time of training so far."""
    message: str | None
    latest: Mapping[str, float] = field(default_factory=dict)
    """The newest value of each metric, for runs whose record has no final counts."""

    @property
    def seconds_left(self) -> float | None:
        """Estimated from the speed so far; None unless the run is training."""
        if self.state is not State.running or self.record is None or not self.record.max_steps or not self.step:
            return None
        return self.seconds / self.step * (self.record.max_steps - self.step)


@dataclass(frozen=True)
class SweptJob:
    """One job of a sweep of `aiayn train`; a refused job may have no run."""

    experiment: str
    seed: int
    overrides: tuple[str, ...]
    directory: RunDirectory
    swept: tuple[str, ...] = ()
    """Its values of the swept keys, as in dropout=0.3, without experiment and seed."""
    was_refused: bool | None = None
    """Whether the job was refused or failed; None if only the existence of a record can tell."""
    failure: str | None = None
    """Why, in one line."""


def read_ledger(runs: Path) -> list[Entry]:
    """Every run below a folder, by path; a folder that cannot be searched is an unreadable entry."""
    found = search_runs(runs)
    return [_unreadable(each.directory, each.failure) if each.failure else read_entry(each.directory) for each in found]


def read_results(runs: Path, *, with_pilots: bool = False, with_warnings: bool = False) -> list[Entry]:
    """Every run below a folder except trials, imported models, and perhaps pilots of studies, by path.

    `with_warnings` logs those that cannot be read, for reports that do not show them themselves.
    """
    studies = {} if with_pilots else _pilots(runs)
    pilots = {(runs / name).resolve() for names in studies.values() for name in names}
    entries = [entry for entry in read_ledger(runs) if not pilots or entry.directory.path.resolve() not in pilots]
    for each in entries:
        if each.record is None and with_warnings:
            logger.warning("left out: %s", each.message)
    return [each for each in entries if each.record is None or not (each.record.trial or each.record.imported)]


def _pilots(runs: Path) -> Mapping[str, Collection[str]]:
    """The names of runs that only tell a study how to plan, by study."""
    studies = studies_module()
    return {} if studies is None else studies.pilots_of_studies(runs)


def pilots_left_out(runs: Path) -> Iterator[str]:
    """A line for each study whose finished pilots `read_results` leaves out."""
    for study, pilots in _pilots(runs).items():
        directories = (RunDirectory(runs / name) for name in pilots)
        states = [read_entry(directory).state for directory in directories if files.is_file(directory.record)]
        if count := states.count(State.finished):
            yield f"{count} finished pilot{'s' * (count > 1)} of study {study} left out"


def read_entry(directory: RunDirectory) -> Entry:
    """The state of one run."""
    try:
        return _entry(directory, read_record(directory.record))
    except UserError as error:
        return _unreadable(directory, str(error))


def _unreadable(directory: RunDirectory, message: str) -> Entry:
    return Entry(directory, State.unreadable, None, 0, 0.0, message)


def _entry(directory: RunDirectory, record: Record) -> Entry:
    if record.status not in (Status.running, Status.failed):
        is_trial = record.status is Status.finished and record.trial is not None
        state = State.trial if is_trial else State(record.status)
        message = f"{record.trial}: in no report" if is_trial else record.message
        return Entry(directory, state, record, record.steps, record.seconds, message)
    logged = _latest_metrics(directory)  # a killed run has no counts in its record
    step = max(record.steps, int(logged.get("step", 0)))
    seconds = max(record.seconds, logged.get("train/seconds", 0.0))
    if record.status is Status.failed:
        return Entry(directory, State.failed, record, step, seconds, record.message, logged)
    holder = directory.holder
    state = State.killed if holder is None else State.running
    return Entry(directory, state, record, step, seconds, holder or "rerun the command to resume", logged)


def _latest_metrics(directory: RunDirectory) -> dict[str, float]:
    """The newest number of each metric, and of the step, in the last lines."""
    rows = directory.metric_rows(tail_bytes=TAIL_BYTES)
    return {key: value for _, values in rows for key, value in values.items() if value is not None}
