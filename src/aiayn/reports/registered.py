"""A pre-registered study as it was run: its planned runs, its claims, and every deviation from the frozen plan."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from aiayn.errors import UserError
from aiayn.evaluation.decisions import EQUIVALENCE_LEVEL, LEVEL, TARGET_POWER, Noise
from aiayn.evaluation.significance import measure, sentence_columns
from aiayn.paper.claims import Claim, Converged, Metric, OverFitting, read_claim, read_gate
from aiayn.reports.comparability import FINGERPRINT_DIGITS, ReportedRun
from aiayn.reports.judgement import POWER_CONFIDENCE, JudgedClaim, MeasuredRows, Noises, judge_claims
from aiayn.reports.numbers import counted
from aiayn.reports.power import finished_run, pilot_result
from aiayn.reports.run_facts import hardware_text, package_versions
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import read_entry, read_results
from aiayn.runs.provenance import Origin, code_version
from aiayn.runs.registrations import (
    FOLDER,
    HASH_DIGITS,
    Registration,
    pilots_below,
    read_looks,
    read_registration,
    registered_names,
    registration_file,
)

Value = TypeVar("Value", bound=Hashable)

Facts: TypeAlias = Mapping[str, str]
"""Of what a run was trained with, by name."""

ANALYSIS: Mapping[str, Any] = {
    "primary_endpoint": Metric.ppl.compared,
    "one_sided_level": LEVEL,
    "equivalence_level": EQUIVALENCE_LEVEL,
    "contradictions": "corrected over all primary comparisons (Holm)",
    "intervals": "the wider of those by the variance of all rows' seeds and by that of the two rows' own (Welch)",
    "target_power": TARGET_POWER,
    "variance_bound": POWER_CONFIDENCE,
}
"""The rules by which this code decides claims, as far as they are numbers or have names; a plan freezes them."""

MOST_RUNS = 4
"""Runs that a deviation names; of more it states the number."""


class Kind(StrEnum):
    """Kinds of deviations from a plan."""

    missing = "missing"
    changed = "changed"
    added = "added"
    early = "early"
    repeated = "repeated"
    analysis = "analysis"
    code = "code"
    precision = "precision"
    packages = "packages"
    hardware = "hardware"
    pilots = "pilots"
    look = "look"


@dataclass(frozen=True)
class Deviation:
    """A deviation from a frozen plan."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class PlannedRun:
    """A planned run, as it was found."""

    name: str
    """Below `paths.runs`."""
    row: str
    seed: int
    run: ReportedRun | None
    """None unless it has finished, as planned."""
    state: str = ""
    """Why it has not finished."""
    change: str = ""
    """How it differs from the planned one."""


@dataclass(frozen=True)
class RegisteredStudy:
    """A study with a frozen plan."""

    registration: Registration
    folder: Path
    """Of the runs."""
    planned: tuple[PlannedRun, ...]

    @property
    def name(self) -> str:
        """Of the study."""
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
        """Those of a row in the analysis."""
        return [each.run for each in self.planned if each.row == row and each.run is not None]

    @cached_property
    def measured(self) -> MeasuredRows:
        """The scores of the rows."""
        scored = {row: found for row in self.registration.plan.rows if (found := self.runs_of(row))}
        systems = [[sentence_columns(run.sentences("dev")) for run in each] for each in scored.values()]
        return MeasuredRows(measure(systems) if systems else None, {row: n for n, row in enumerate(scored)})

    @cached_property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The claims with their verdicts; one whose planned runs are not all in is not tested."""
        plan = self.registration.plan
        gates = {name: read_gate(gate) for name, gate in plan.gates.items()}
        claims = [read_claim(entry, gates, lambda *_: math.nan) for entry in plan.claims.values()]  # effects are stated
        curves = {
            row: [run.entry.directory.validation_perplexities() for run in self.runs_of(row)]
            for row in self.measured.places
        }
        missing = {claim.id: reason for claim in claims if (reason := self._lacking(claim))}
        return judge_claims(
            claims,
            self.measured,
            curves,
            base=plan.base,
            noises=self.noises,
            powers=self.registration.powers,
            missing=missing,
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

    def _lacking(self, claim: Claim) -> str:
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

    @cached_property
    def deviations(self) -> tuple[Deviation, ...]:
        """Every deviation from the plan."""
        return (
            *_unfinished(self.planned),
            *(Deviation(Kind.changed, f"{each.name}: {each.change}") for each in self.planned if each.change),
            *_added(self),
            *_early(self),
            *_repeated(self),
            *_analysis(self),
            *_origins(self),
            *_machines(self),
            *_pilots(self),
            *(
                Deviation(Kind.look, f"{look.time}, with {look.finished} of {len(self.planned)} runs")
                for look in read_looks(self.folder, self.name)
            ),
        )

    def remarks(self) -> Iterator[str]:
        """The plan and its deviations, a line each."""
        registration = self.registration
        yield (
            f"plan: {self.name}, frozen {registration.time} by {registration.code.text}, sha256 "
            f"{registration.sha256[:HASH_DIGITS]}, {FOLDER}/{self.name}.json; {len(self.finished)} of "
            f"{counted(len(self.planned), 'planned run')} in; reported by {code_version().text}"
        )
        for deviation in self.deviations:
            yield f"deviation from the plan ({deviation.kind}): {deviation.text}"
        if not self.deviations:
            yield "deviations from the plan: none"


def read_registered(folder: Path, name: str) -> RegisteredStudy:
    """The study of a frozen plan; UserError if there is none, or a file is damaged."""
    registration = read_registration(folder, name)
    found = [_planned_run(registration, folder, run, row, seed) for run, (row, seed) in registration.plan.runs.items()]
    return RegisteredStudy(registration, folder, tuple(_of_one_corpus(registration, found)))


def registration_of(runs: Sequence[Path], folder: Path) -> RegisteredStudy | None:
    """The study to which runs below a folder belong: of several, the one that plans most of them; None: of no study."""
    known = {*runs}
    planned = {name: read_registration(folder, name).plan.runs for name in registered_names(folder)}
    counts = {name: sum(folder / run in known for run in found) for name, found in planned.items()}
    best = max(counts, key=lambda name: counts[name], default=None)
    return read_registered(folder, best) if best is not None and counts[best] else None


def _planned_run(registration: Registration, folder: Path, name: str, row: str, seed: int) -> PlannedRun:
    run = finished_run(folder / name)
    if run is None:
        directory = RunDirectory(folder / name)
        state = read_entry(directory).state.value if directory.record.is_file() else "not begun"
        return PlannedRun(name, row, seed, None, state=state)
    planned = {**registration.plan.rows[row].settings, "seed": seed}
    own = {**run.settings, "seed": run.content.get("seed")}
    for key in sorted(planned.keys() | own.keys()):
        if planned.get(key) != own.get(key):
            change = f"{key} is {own.get(key, 'not stated')}, planned {planned.get(key, 'not stated')}"
            return PlannedRun(name, row, seed, None, change=change)
    return PlannedRun(name, row, seed, run)


def _of_one_corpus(registration: Registration, planned: Sequence[PlannedRun]) -> Iterator[PlannedRun]:
    """Runs scored on the sentences of the pilots, or of most runs; the others are changed."""
    finished = [each.run for each in planned if each.run is not None]
    prints = [pilot.data_fingerprint for pilot in registration.pilots]
    data = _most([print_ for print_ in prints if print_] or [run.record.data_fingerprint for run in finished])
    scored = _most([tuple(run.dev_conditions.items()) for run in finished if run.record.data_fingerprint == data])
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


def _most(values: Sequence[Value]) -> Value | None:
    return Counter(values).most_common(1)[0][0] if values else None


def _unfinished(planned: Sequence[PlannedRun]) -> Iterator[Deviation]:
    seeds: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for each in planned:
        if each.state:
            seeds[each.row, each.state].append(each.seed)
    for (row, state), missing in seeds.items():
        yield Deviation(Kind.missing, f"{_seeds_text(row, missing)}: {state}")


def _seeds_text(row: str, seeds: Sequence[int]) -> str:
    return f"{row}, seed{'s' * (len(seeds) > 1)} {', '.join(map(str, sorted(seeds)))}"


def _added(study: RegisteredStudy) -> Iterator[Deviation]:
    """Runs of the rows that the plan does not have, pilots of other studies included."""
    plan, seeds = study.registration.plan, defaultdict[str, list[int]](list)
    known = {study.folder / name for name in (*plan.runs, *plan.pilot_runs)}
    rows = {row: {**planned.settings} for row, planned in plan.rows.items()}
    for entry in read_results(study.folder, with_pilots=True):
        if entry.record is None or entry.directory.path in known or not entry.directory.config.is_file():
            continue
        settings = ReportedRun(entry, entry.record).settings
        for row, planned in rows.items():
            if settings == planned:
                seeds[row].append(entry.record.seed)
    for row, added in seeds.items():
        yield Deviation(Kind.added, f"{_seeds_text(row, added)}: not in the plan, and not in the analysis")


def _early(study: RegisteredStudy) -> Iterator[Deviation]:
    """Runs whose results may have been known when the plan was frozen."""
    frozen = study.registration.time
    early = [each for each in study.planned if each.run is not None and (each.run.record.started or "") < frozen]
    if early:
        yield Deviation(Kind.early, f"begun before the plan was frozen: {_names(each.name for each in early)}")


def _repeated(study: RegisteredStudy) -> Iterator[Deviation]:
    """Runs that were trained more than once, so that the better result could have been kept."""
    for each in study.planned:
        if each.run is not None and (repeats := each.run.record.repeats):
            times = counted(repeats, "time")
            yield Deviation(Kind.repeated, f"{each.name}: trained anew {times} after it had finished")


def _analysis(study: RegisteredStudy) -> Iterator[Deviation]:
    """Other rules than the plan's."""
    planned = study.registration.plan.analysis
    for key in {**planned, **ANALYSIS}:
        here, there = (rules.get(key, "not stated") for rules in (ANALYSIS, planned))
        if here != there:
            yield Deviation(Kind.analysis, f"{key} is {here} in this code, planned {there}")


def _origins(study: RegisteredStudy) -> Iterator[Deviation]:
    """Other code than the plan's, other precisions than the pilots'."""
    registration = study.registration
    code = registration.code.text
    trained: defaultdict[str, list[str]] = defaultdict(list)
    for pilot in registration.pilots:
        trained[pilot.code].append(pilot.run)
    for other, names in trained.items():
        if other != code:
            yield Deviation(Kind.code, f"{other}: pilots {_names(names)}; the plan was frozen by {code}")
    yield from _others(study, Kind.code, lambda origin: origin.code.text, {code}, f"the plan was frozen by {code}")
    pilots = {pilot.precision for pilot in registration.pilots}
    expected = pilots or {_most([run.record.origin.precision_text for run in study.finished]) or ""}
    whose = "pilots" if pilots else "most runs"
    stated = f"{whose} trained in {', '.join(sorted(expected))}"
    yield from _others(study, Kind.precision, lambda origin: origin.precision_text, expected, stated)


def _machines(study: RegisteredStudy) -> Iterator[Deviation]:
    """Other packages and machines than the pilots' or, without pilots, than those of most runs; a line each."""
    pilots, records = study.registration.pilots, [run.record for run in study.finished]
    yield from _differing(Kind.packages, [pilot.versions for pilot in pilots], map(package_versions, records))
    machines = ({"machine": text} for record in records if (text := hardware_text(record)))
    yield from _differing(Kind.hardware, [{"machine": pilot.hardware} for pilot in pilots if pilot.hardware], machines)


def _differing(kind: Kind, of_pilots: Sequence[Facts], of_runs: Iterable[Facts]) -> Iterator[Deviation]:
    """The facts of runs that are not the expected ones, in one line; empty ones are unknown."""
    known = [facts for facts in of_runs if facts]
    stated = [facts for facts in of_pilots if facts]
    whose, parts = "pilots" if stated else "most runs", []
    for name in sorted({name for facts in (*stated, *known) for name in facts}):
        found = Counter(facts.get(name, "unknown") for facts in known)
        expected = {facts.get(name, "unknown") for facts in stated} or {found.most_common(1)[0][0]}
        others = {value: count for value, count in found.items() if value not in expected}
        if others:
            listed = ", ".join(f"{counted(count, 'run')} with {name} {value}" for value, count in others.items())
            parts.append(f"{listed}, {whose} with {' and '.join(sorted(expected))}")
    if parts:
        yield Deviation(kind, "; ".join(parts))


def _others(
    study: RegisteredStudy, kind: Kind, fact: Callable[[Origin], str], expected: Collection[str], stated: str
) -> Iterator[Deviation]:
    """The runs of which an attempt has another fact than expected, by fact."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for each in study.planned:
        if each.run is not None:
            record = each.run.record
            for other in dict.fromkeys(fact(origin) for origin in (*record.earlier, record.origin)):
                if other not in expected:
                    found[other].append(each.name)
    for other, names in found.items():
        yield Deviation(kind, f"{other}: {_names(names)}; {stated}")


def _pilots(study: RegisteredStudy) -> Iterator[Deviation]:
    """Pilots that are no longer as they were, and further ones."""
    for pilot in study.registration.pilots:
        run = finished_run(study.folder / pilot.run)
        if run is None:
            yield Deviation(Kind.pilots, f"{pilot.run} is no longer a finished run")
        elif (log_ppl := pilot_result(pilot.row, pilot.run, run).log_ppl) != pilot.log_ppl:
            yield Deviation(Kind.pilots, f"{pilot.run}: log PPL {log_ppl}, {pilot.log_ppl} when the plan was frozen")
    planned = {study.folder / name for name in study.registration.plan.pilot_runs}
    added = sorted(pilots_below(study.folder, study.name) - planned)
    if added:
        names = _names(str(path.relative_to(study.folder)) for path in added)
        yield Deviation(Kind.pilots, f"not in the plan: {names}")


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed) if len(listed) <= MOST_RUNS else counted(len(listed), "run")


def seeds_in(study: RegisteredStudy) -> Mapping[str, str]:
    """By row, the runs in the analysis and those planned, as in "3 of 4"."""
    return {row: f"{len(study.runs_of(row))} of {seeds}" for row, seeds in study.registration.plan.seeds.items()}
