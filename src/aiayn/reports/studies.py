"""What plans of runs, frozen before them, say about a table: an extension knows them, and without it there are none."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from aiayn.errors import UserError
from aiayn.registry import studies_module
from aiayn.reports.judgement import JudgedClaim
from aiayn.reports.reported_runs import ReportedRun


class PlannedRun(Protocol):
    """A run that a plan states."""

    @property
    def name(self) -> str:
        """The name of the run below `paths.runs`."""

    @property
    def run(self) -> ReportedRun | None:
        """The run; None unless it has finished as planned."""


class Study(Protocol):
    """The runs of a plan, and the claims that it states."""

    @property
    def name(self) -> str:
        """The name of the plan."""

    @property
    def planned(self) -> Sequence[PlannedRun]:
        """All runs of the plan."""

    @property
    def shown(self) -> Sequence[ReportedRun]:
        """The runs that reports on it name."""

    @property
    def claims(self) -> Sequence[JudgedClaim]:
        """The claims of the plan, judged by its rules."""

    @property
    def has_other_rules(self) -> bool:
        """Whether this code does not judge its claims."""

    @property
    def rules_remark(self) -> str:
        """Why there are no verdicts, where that is so."""

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks on the plan and on each deviation from it."""

    def is_in_table3(self, name: str, experiment: str) -> bool:
        """Whether a run is a planned one of a row of Table 3."""

    def record_look(self) -> None:
        """Record that a report was made, if not all runs are in."""


def read_study(runs: Path, name: str) -> Study:
    """The study of a frozen plan; UserError if there is no such plan, or a file is damaged."""
    known = studies_module()
    if known is None:
        raise UserError(f"study={name}: this installation has no pre-registered studies; leave it out")
    found: Study = known.read_study(runs, name)
    return found


def study_of_most(paths: Sequence[Path], runs: Path) -> Study | None:
    """The study that plans the most of these runs; None if none plans one."""
    known = studies_module()
    return None if known is None else known.study_of_most(paths, runs)


def are_planned_together(first: Path, second: Path) -> bool:
    """Whether one plan has both runs."""
    known = studies_module()
    return known is not None and known.are_planned_together(first, second)


def closed_runs(runs: Path) -> Mapping[str, str]:
    """The names of runs whose results are not looked at yet, each with its study."""
    known = studies_module()
    return {} if known is None else known.closed_runs(runs)


def runs_without_looks(runs: Path) -> Collection[str]:
    """The names of runs whose plan allows no look before all are in."""
    known = studies_module()
    return () if known is None else known.runs_without_looks(runs)
