"""Plans of runs, as the core's reports ask for them: see `aiayn.reports.studies`."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from aiayn.extensions.lab.deviations import named_runs, plan_remarks
from aiayn.extensions.lab.registered import RegisteredStudy, read_registered, registration_of
from aiayn.extensions.lab.registrations import (
    FOLDER,
    read_registration,
    record_look,
    registered_names,
)
from aiayn.reports.reported_runs import ReportedRun
from aiayn.runs.search import name_below
from aiayn.system import files


class PlannedStudy(RegisteredStudy):
    """A study with its deviations."""

    @property
    def shown(self) -> list[ReportedRun]:
        """The runs of the analysis, and those that deviations name."""
        return [*self.finished, *named_runs(self)]

    @property
    def remarks(self) -> tuple[str, ...]:
        """The plan, and the deviations from it."""
        return tuple(plan_remarks(self))

    def record_look(self) -> None:
        """Record a report on an unfinished study."""
        if not self.is_complete:
            record_look(self.folder, self.name, len(self.finished))


def study_names(runs: Path) -> list[str]:
    """The studies with a frozen plan."""
    return registered_names(runs)


def read_study(runs: Path, name: str) -> PlannedStudy:
    """The study of a frozen plan; UserError if there is none, or a file is damaged."""
    return PlannedStudy(**vars(read_registered(runs, name)))


def study_of_most(paths: Sequence[Path], runs: Path) -> PlannedStudy | None:
    """The study that plans the most of these runs; None if no study plans one."""
    found = registration_of(paths, runs)
    return None if found is None else PlannedStudy(**vars(found))


def are_planned_together(first: Path, second: Path) -> bool:
    """Whether the frozen plan of a study has both runs."""
    folder = next((above for above in first.absolute().parents if files.is_dir(above / FOLDER)), None)
    if folder is None:
        return False
    pair = {name_below(folder, first), name_below(folder, second)}
    return any(pair <= read_registration(folder, study).plan.runs.keys() for study in registered_names(folder))


def closed_runs(runs: Path) -> dict[str, str]:
    """The runs of unfinished studies whose plan allows no looks, with the first study that plans each."""
    found: dict[str, str] = {}
    opened = set[str]()
    for name in registered_names(runs):
        study = read_registered(runs, name)
        own = study.registration.plan.runs.keys() - found.keys() - opened
        if allows_look(study):
            opened |= own
        else:
            found |= dict.fromkeys(own, name)
    return found


def runs_without_looks(runs: Path) -> set[str]:
    """The runs whose plan allows no look before all are in; the first study that plans a run counts."""
    found, seen = set[str](), set[str]()
    for name in registered_names(runs):
        plan = read_registration(runs, name).plan
        found |= set() if plan.looks else plan.runs.keys() - seen
        seen |= plan.runs.keys()
    return found


def allows_look(study: RegisteredStudy) -> bool:
    """Whether a look is no deviation: all runs of a study are in, or its plan allows looks."""
    return study.is_complete or study.registration.plan.looks


def pilots_of_studies(runs: Path) -> dict[str, set[str]]:
    """The names of the pilots below `paths.runs`, by study: see `StudyPlan.pilots`, and those in files `*.pilots`."""
    found = defaultdict[str, set[str]](set)
    for name in registered_names(runs):
        found[name].update(read_registration(runs, name).plan.pilots)
    for path in files.listed(runs / FOLDER, "*.pilots"):
        found[path.stem].update(filter(None, files.read_text(path).splitlines()))
    return found
