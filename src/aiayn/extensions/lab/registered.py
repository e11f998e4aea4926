"""A pre-registered study as it was run: its planned runs and its claims."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from aiayn.errors import UserError
from aiayn.evaluation.decisions import EQUIVALENCE_LEVEL, LEVEL, STEP_LEVEL
from aiayn.extensions.lab.registrations import (
    Registration,
    StudyTerms,
    read_registration,
    registered_names,
    registration_file,
)
from aiayn.paper.claims import SHARE, Claim, Metric, read_claim
from aiayn.reports.comparability import PREFIX
from aiayn.reports.endpoints import PROJECTED, VALIDATIONS, at, endpoint_weights, projection_weights
from aiayn.reports.judgement import (
    FEWEST_SEEDS,
    LEARNED_SHARE,
    STUDY,
    JudgedClaim,
    Rules,
    judge_claims,
)
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.numbers import counted
from aiayn.reports.reported_runs import FINGERPRINT_DIGITS, ReportedRun, finished_run
from aiayn.reports.verdicts import CUT, POWER_CONFIDENCE, UNDER_POWERED
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import read_entry
from aiayn.system import files

Value = TypeVar("Value", bound=Hashable)

RULES = 2
"""The version of the rules; a plan of other ones is judged by the code that knew them."""

LAST_OF_RULES = {1: "84873cb461f6137781f75ae7e9aecc550fe3177b"}
"""The commit that recomputes studies of earlier rules, by version."""

ANALYSIS: Mapping[str, Any] = {
    "rules": RULES,
    "primary_endpoint": f"{Metric.ppl.compared}, mean of the last {VALIDATIONS} validations",
    "one_sided_level": LEVEL,
    "likeness": f"{EQUIVALENCE_LEVEL} on each side, within {SHARE} of another difference",
    "contradictions": "corrected over all primary comparisons (Holm)",
    "errors": "by the variance between the seeds of each row (Welch)",
    "fewest_seeds": FEWEST_SEEDS,
    "learned": f"a row of a claim has {LEARNED_SHARE} of base's BLEU, unless the claim may_fail",
    "not_monotone": f"a step of a trend is opposite, {STEP_LEVEL} over its steps (Holm)",
    "closing": f"the line over ln(step) through the validations after half of the steps does not exclude 0 at "
    f"{PROJECTED} times the steps",
    "failed_seeds": "stay in the mean of their row; one that ends without scores leaves its claims untested",
    "under_powered": UNDER_POWERED,
    "variance_bound": POWER_CONFIDENCE,
    "assumed_effects": f"{CUT} of the published ones, else the stated ones down to the floor",
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
        """The scores of the rows' final evaluations."""
        return MeasuredRows.of(self.rows)

    @property
    def last_of_rules(self) -> str | None:
        """The commit that recomputes the verdicts of a plan with other rules than this code's; None for these rules."""
        rules = self.registration.plan.analysis.get("rules", 1)
        if rules == RULES:
            return None
        code = self.registration.code
        return LAST_OF_RULES.get(rules if isinstance(rules, int) else 0, code.commit or code.text)

    @property
    def has_other_rules(self) -> bool:
        """Whether other code than this judges its claims."""
        return self.last_of_rules is not None

    @property
    def rules_remark(self) -> str:
        """Why there are no verdicts, where that is so."""
        return (
            f"verdicts: none, since the plan of {self.name} was frozen by other rules than those of this code; commit "
            f"{self.last_of_rules} judges its claims"
        )

    @property
    def rules(self) -> Rules:
        """How its claims are judged."""
        return study_rules(self.registration.plan.base, self.registration.plan.terms)

    @cached_property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The claims with their verdicts; one whose planned runs are not all in is not tested. None of other rules."""
        return self.claims_at(None)

    def claims_at(self, steps: int | None) -> tuple[JudgedClaim, ...]:
        """The claims as they would be judged after fewer steps: those on log PPL alone, since BLEU is of all steps."""
        if self.last_of_rules is not None:
            return ()
        try:
            claims = [read_claim(entry) for entry in self.registration.plan.claims.values()]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            path = registration_file(self.folder, self.name)
            raise UserError(f"{path}: claims are not of this version ({error}); restore the file") from None
        if steps is not None:
            on_ppl = (claim for claim in claims if {each.metric for each in claim.primary} == {Metric.ppl})
            claims = [replace(claim, secondary=()) for claim in on_ppl]
        measured, projected = (
            at(self.measured, self.rows, functional, steps) for functional in (endpoint_weights, projection_weights)
        )
        return judge_claims(
            claims,
            measured,
            self.rules,
            projected=projected,
            powers=self.registration.powers if steps is None else None,
            lacking=self._missing_runs_text,
        )

    def _missing_runs_text(self, claim: Claim) -> str:
        """The number of runs that a claim lacks, those of base included, in words; empty if it has all."""
        rows = {*claim.rows, self.registration.plan.base}
        lacking = Counter(each.row for each in self.planned if each.row in rows and each.run is None)
        if not lacking:
            return ""
        counts = ", ".join(f"{count} of {row}" for row, count in lacking.items())
        return f"{counted(lacking.total(), 'planned run')} not in: {counts}"


def study_rules(base: str, terms: StudyTerms) -> Rules:
    """How the claims of a study are judged."""
    return replace(STUDY, base=base, floor=None if terms.floor is None else terms.floor.log_ppl)


def read_registered(folder: Path, name: str) -> RegisteredStudy:
    """The study of a frozen plan; UserError if there is none, or a file is damaged."""
    registration = read_registration(folder, name)
    found = [_planned_run(registration, folder, run, row, seed) for run, (row, seed) in registration.plan.runs.items()]
    return RegisteredStudy(registration, folder, tuple(_of_one_corpus(found)))


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


def _of_one_corpus(planned: Sequence[PlannedRun]) -> Iterator[PlannedRun]:
    """The planned runs; those not scored on the sentences of most of them count as changed."""
    finished = [each.run for each in planned if each.run is not None]
    data = most_frequent([run.record.data_fingerprint for run in finished])
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
