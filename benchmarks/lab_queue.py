"""The queue of the lab: the runs of its frozen plans, in order, and how long they take."""

import fcntl
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

from aiayn.extensions.lab.publication import RUNS, unpacked
from aiayn.extensions.lab.registrations import read_registration, registered_names
from aiayn.reports.reported_runs import finished_run
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import Entry, State, read_entry
from aiayn.system import files

OF_BIG = ("lab_big_1", "lab_big_07", "lab_big_05")
"""The plans of big, of which the pilots choose one."""

STUDIES = ("lab_big_pilots", "lab_capacity2", "lab_real_pilot", *OF_BIG, "lab_overfitting2")
"""In the order of their runs; those that have no plan in the folder are left out."""

MARGIN = 1.3
"""The assumed time of a run, as a multiple of that of others."""


@dataclass(frozen=True)
class Job:
    """A planned run."""

    study: str
    row: str
    name: str
    """Of its directory below the folder of runs."""
    words: tuple[str, ...]
    """Of its command, without folders."""


@dataclass
class Lab:
    """A folder of runs, and the command that trains them."""

    folder: Path
    """Absolute."""
    aiayn: Sequence[str]
    kept: Path
    """The folder of kept runs."""
    studies: Sequence[str] = STUDIES

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def log(self) -> Path:
        """What the commands print."""
        return self.folder / "log"

    @property
    def clone(self) -> Path:
        """The folder in which commands are started."""
        return self.folder / "clone"

    def jobs(self) -> list[Job]:
        """The runs of all frozen plans, in order."""
        return [job for study in self.studies if study in registered_names(self.runs) for job in self._jobs(study)]

    def _jobs(self, study: str) -> Iterator[Job]:
        registration = read_registration(self.runs, study)
        shared = (*shlex.split(registration.command)[1:], "hydra.mode=RUN", "logger=none")
        rows = registration.plan.rows
        for row, seed, name in by_seed({row: planned.runs for row, planned in rows.items()}):
            yield Job(study, row, name, (*shared, *rows[row].overrides, f"seed={seed}"))

    def entry(self, job: Job) -> Entry | None:
        """The state of a run; None if it has not begun."""
        directory = RunDirectory(self.runs / job.name)
        return read_entry(directory) if files.is_file(directory.record) else None

    def open_jobs(self) -> list[Job]:
        """The runs that can be started, those to be resumed first."""
        found = [(job, self.entry(job)) for job in self.jobs()]
        lost = [job for job, entry in found if entry is not None and entry.state in (State.interrupted, State.killed)]
        return [*lost, *(job for job, entry in found if entry is None)]

    def estimates(self, study: str) -> dict[str, float]:
        """Seconds of a run by row, from runs of the row, of the study that told the power, or of other rows; else 0."""
        plan = read_registration(self.runs, study).plan
        known, source = _paces(self.runs, study), plan.terms.power_from
        published = _published_paces(self.clone / source) if source else {}
        others = max(known.values(), default=0.0)
        paces = {row: known.get(row) or MARGIN * (published.get(row) or others) for row in plan.rows}
        return {row: pace * plan.rows[row].settings["optimization.max_steps"] for row, pace in paces.items()}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until no other runner changes what they share."""
        files.make_folder(self.folder)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def by_seed(rows: Mapping[str, Mapping[int, str]]) -> Iterator[tuple[str, int, str]]:
    """Row, seed and name of runs that are named by row and seed: the first seed of all rows, then the second."""
    columns = ([(row, *each) for each in sorted(runs.items())] for row, runs in rows.items())
    return filter(None, chain.from_iterable(zip_longest(*columns)))


def _paces(runs: Path, *studies: str) -> dict[str, float]:
    """The most seconds of a step, evaluation included, by row with finished runs."""
    paces: dict[str, float] = {}
    for plan in (read_registration(runs, study).plan for study in studies):
        for name, (row, _) in plan.runs.items():
            if run := finished_run(runs / name):
                seconds = run.record.seconds + sum(scores.seconds for scores in run.record.scores.values())
                paces[row] = max(seconds / run.record.steps, paces.get(row, 0.0))
    return paces


@cache
def _published_paces(folder: Path) -> dict[str, float]:
    """The same of published studies."""
    with unpacked(folder, f"power_from={folder}"):
        return _paces(Path(RUNS), *registered_names(Path(RUNS)))
