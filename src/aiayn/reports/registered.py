"""A pre-registered study as it was run: its planned runs and its claims."""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from aiayn.errors import UserError
from aiayn.evaluation.decisions import EQUIVALENCE_LEVEL, LEVEL, TARGET_POWER, Noise
from aiayn.paper.claims import Claim, Converged, Metric, OverFitting, read_claim, read_gate
from aiayn.reports.comparability import PREFIX
from aiayn.reports.gates import curves_of
from aiayn.reports.judgement import POWER_CONFIDENCE, JudgedClaim, MeasuredRows, Noises, judge_claims
from aiayn.reports.numbers import counted
from aiayn.reports.reported_runs import FINGERPRINT_DIGITS, ReportedRun, finished_run
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import read_entry
from aiayn.runs.registrations import (
    Registration,
    read_registration,
    registered_names,
    registration_file,
)
from aiayn.system import files

Value = TypeVar("Value", bound=Hashable)

ANALYSIS: Mapping[str, Any] = {
    "primary_endpoint": Metric.ppl.compared,
    "one_sided_level": LEVEL,
    "equivalence_level": EQUIVALENCE_LEVEL,
    "contradictions": "corrected over all primary comparisons (Holm)",
    "intervals": "the wider of those by the variance of all rows' seeds and by that of the two rows' own (Welch)",
    "gates": "of the mean over a row's seeds",
    "target_power": TARGET_POWER,
    "variance_bound": POWER_CONFIDENCE,
}
"""The named and numeric rules by which this code decides claims; a plan freezes them."""


@dataclass(frozen=True)
class PlannedRun:
    """A planned run and its present state."""

    name: str
    """Name of the run below `paths.runs`."""
    row: str
    seed: int
    run: ReportedRun | None
    """None unless it has finished with the planned configuration and corpus."""
    state: str = ""
    """Why it has not finished."""
    change: str = ""
    """How it differs from the planned one."""


@dataclass(frozen=True)
class RegisteredStudy:
    """A study with a frozen plan."""

    registration: Registration
    folder: Path
    """The folder of runs."""
    planned: tuple[PlannedRun, ...]

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.registration.name

    @property
    def finished(self) -> list[ReportedRun]:
        """The runs of the analysis."""
        return [each.run for each in self.planned if each.run is not None]

    @property
    def is_complete(self) -> bool:
        """Whether all planned runs are in the analysis."""
        return len(self.finished) == len(self.planned)

    def runs_of(self, row: str) -> list[ReportedRun]:
        """The runs of a row in the analysis."""
        return [each.run for each in self.planned if each.row == row and each.run is not None]

    @property
    def compared_rows(self) -> list[str]:
        """The rows but base."""
        return [row for row in self.registration.plan.rows if row != self.registration.plan.base]

    @property
    def rows(self) -> dict[str, list[ReportedRun]]:
        """The runs in the analysis by row; rows without runs are left out."""
        return {row: found for row in self.registration.plan.rows if (found := self.runs_of(row))}

    def is_in_table3(self, name: str, experiment: str) -> bool:
        """Whether a run is a planned one of a row of Table 3; base trained longer, as a row of its own, is none."""
        row, _ = self.registration.plan.runs.get(name, ("", 0))
        return experiment == f"{PREFIX}{row}"

    @cached_property
    def measured(self) -> MeasuredRows:
        """The scores of the rows."""
        return MeasuredRows.of(self.rows)

    @cached_property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The claims with their verdicts; one whose planned runs are not all in is not tested."""
        plan = self.registration.plan
        gates = {name: read_gate(gate) for name, gate in plan.gates.items()}
        claims = [read_claim(entry, gates, lambda *_: math.nan) for entry in plan.claims.values()]  # effects are stated
        return judge_claims(
            claims,
            self.measured,
            curves_of(self.rows),
            base=plan.base,
            noises=self.noises,
            powers=self.registration.powers,
            lacking=self._missing_runs_text,
        )

    @property
    def noises(self) -> Noises | None:
        """The variances that power was computed with; None without pilots."""
        stated = self.registration.noises
        if stated is None:
            return None
        try:
            return {Metric[name]: Noise(**noise) for name, noise in stated.items()}
        except (KeyError, TypeError) as error:
            path = registration_file(self.folder, self.name)
            raise UserError(f"{path}: noises are not of this version ({error}); restore the file") from None

    def _missing_runs_text(self, claim: Claim) -> str:
        """The number of runs that a claim lacks, its gates' included, in words; empty if it has all."""
        rows = set(claim.rows)
        for gate in claim.gates.values():
            match gate:
                case Converged():
                    rows.add(self.registration.plan.base)
                case OverFitting():
                    rows.add(gate.row)
        lacking = Counter(each.row for each in self.planned if each.row in rows and each.run is None)
        if not lacking:
            return ""
        counts = ", ".join(f"{count} of {row}" for row, count in lacking.items())
        return f"{counted(lacking.total(), 'planned run')} not in: {counts}"


def read_registered(folder: Path, name: str) -> RegisteredStudy:
    """The study of a frozen plan; UserError if there is none, or a file is damaged."""
    registration = read_registration(folder, name)
    found = [_planned_run(registration, folder, run, row, seed) for run, (row, seed) in registration.plan.runs.items()]
    return RegisteredStudy(registration, folder, tuple(_of_one_corpus(registration, found)))


def registration_of(runs: Sequence[Path], folder: Path) -> RegisteredStudy | None:
    """The study that plans the most of these runs, which are below a folder; None if no study plans one."""
    known = {*runs}
    planned = {name: read_registration(folder, name).plan.runs for name in registered_names(folder)}
    counts = {name: sum(folder / run in known for run in found) for name, found in planned.items()}
    best = max(counts, key=lambda name: counts[name], default=None)
    return read_registered(folder, best) if best is not None and counts[best] else None


def _planned_run(registration: Registration, folder: Path, name: str, row: str, seed: int) -> PlannedRun:
    run = finished_run(folder / name)
    if run is None:
        directory = RunDirectory(folder / name)
        state = read_entry(directory).state.value if files.is_file(directory.record) else "not begun"
        return PlannedRun(name, row, seed, None, state=state)
    planned = {**registration.plan.rows[row].settings, "seed": seed}
    own = {**run.settings, "seed": run.content.get("seed")}
    for key in sorted(planned.keys() | own.keys()):
        if planned.get(key) != own.get(key):
            change = f"{key} is {own.get(key, 'not stated')}, planned {planned.get(key, 'not stated')}"
            return PlannedRun(name, row, seed, None, change=change)
    return PlannedRun(name, row, seed, run)


def _of_one_corpus(registration: Registration, planned: Sequence[PlannedRun]) -> Iterator[PlannedRun]:
    """The planned runs; those not scored on the sentences of the pilots, or of most runs, count as changed."""
    finished = [each.run for each in planned if each.run is not None]
    prints = [pilot.data_fingerprint for pilot in registration.pilots]
    data = most_frequent([print_ for print_ in prints if print_] or [run.record.data_fingerprint for run in finished])
    scored = most_frequent(
        [tuple(run.dev_conditions.items()) for run in finished if run.record.data_fingerprint == data]
    )
    for each in planned:
        if each.run is None:
            yield each
            continue
        record, change = each.run.record, ""
        if record.data_fingerprint != data:
            here, there = ((found or "none")[:FINGERPRINT_DIGITS] for found in (record.data_fingerprint, data))
            change = f"its corpus has the fingerprint {here}, that of the study {there}"
        elif tuple(each.run.dev_conditions.items()) != scored:
            change = f"scored on {each.run.dev_conditions}, others on {dict(scored or ())}"
        yield PlannedRun(each.name, each.row, each.seed, None, change=change) if change else each


def most_frequent(values: Sequence[Value]) -> Value | None:
    """The value that occurs most often; None if there are none."""
    return Counter(values).most_common(1)[0][0] if values else None


def seeds_in(study: RegisteredStudy) -> Mapping[str, str]:
    """By row, the runs in the analysis and those planned, as in "3 of 4"."""
    return {row: f"{len(study.runs_of(row))} of {seeds}" for row, seeds in study.registration.plan.seeds.items()}
