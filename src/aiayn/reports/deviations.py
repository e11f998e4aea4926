"""Every deviation of a pre-registered study from its frozen plan."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from aiayn.reports.numbers import counted
from aiayn.reports.power import pilot_result
from aiayn.reports.registered import ANALYSIS, PlannedRun, RegisteredStudy, most_frequent
from aiayn.reports.reported_runs import ReportedRun, finished_run
from aiayn.reports.run_facts import hardware_text, package_versions
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import read_entry, read_results
from aiayn.runs.provenance import Origin
from aiayn.runs.registrations import FOLDER, HASH_DIGITS, pilots_below, read_looks
from aiayn.system import files

Facts: TypeAlias = Mapping[str, str]
"""Facts of a run's training, such as its machine, by name."""

MOST_RUNS = 4
"""The most runs that a deviation names; for more it states their number."""


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


def deviations_of(study: RegisteredStudy) -> tuple[Deviation, ...]:
    """Every deviation from the plan of a study."""
    return (
        *_unfinished(study.planned),
        *(Deviation(Kind.changed, f"{each.name}: {each.change}") for each in study.planned if each.change),
        *_added(study),
        *_early(study),
        *_repeated(study),
        *_analysis(study),
        *_origins(study),
        *_machines(study),
        *_pilots(study),
        *(
            Deviation(Kind.look, f"{look.time}, with {look.finished} of {len(study.planned)} runs")
            for look in read_looks(study.folder, study.name)
            if not study.registration.plan.looks
        ),
    )


def plan_remarks(study: RegisteredStudy) -> Iterator[str]:
    """The plan of a study and its deviations, a line each."""
    registration, deviations = study.registration, deviations_of(study)
    yield (
        f"plan: {study.name}, frozen {registration.time} by {registration.code.text}, sha256 "
        f"{registration.sha256[:HASH_DIGITS]}, {FOLDER}/{study.name}.json; {len(study.finished)} of "
        f"{counted(len(study.planned), 'planned run')} in"
    )
    for deviation in deviations:
        yield f"deviation from the plan ({deviation.kind}): {deviation.text}"
    if not deviations:
        yield "deviations from the plan: none"


def named_runs(study: RegisteredStudy) -> list[ReportedRun]:
    """The runs that are not in the analysis but that deviations name: planned ones, and added ones."""
    planned = [RunDirectory(study.folder / each.name) for each in study.planned if each.run is None]
    entries = [read_entry(directory) for directory in planned if files.is_file(directory.config)]
    others = [ReportedRun(entry, entry.record) for entry in entries if entry.record is not None]
    return [*others, *(run for _, run in _added_runs(study))]


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
    seeds = defaultdict[str, list[int]](list)
    for row, run in _added_runs(study):
        seeds[row].append(run.record.seed)
    for row, added in seeds.items():
        yield Deviation(Kind.added, f"{_seeds_text(row, added)}: not in the plan, and not in the analysis")


def _added_runs(study: RegisteredStudy) -> Iterator[tuple[str, ReportedRun]]:
    """Runs of the plan's rows that are not in the plan, with their row; pilots of other studies included."""
    plan = study.registration.plan
    known = {(study.folder / name).resolve() for name in (*plan.runs, *plan.pilot_runs)}
    rows = {row: {**planned.settings} for row, planned in plan.rows.items()}
    for entry in read_results(study.folder, with_pilots=True):
        if entry.record is None or entry.directory.path.resolve() in known or not files.is_file(entry.directory.config):
            continue
        run = ReportedRun(entry, entry.record)
        yield from ((row, run) for row, planned in rows.items() if run.settings == planned)


def _early(study: RegisteredStudy) -> Iterator[Deviation]:
    """Runs whose results may have been known when the plan was frozen."""
    frozen = study.registration.time
    early = [each for each in study.planned if each.run is not None and (each.run.record.started or "") < frozen]
    if early:
        yield Deviation(Kind.early, f"begun before the plan was frozen: {_names(each.name for each in early)}")


def _repeated(study: RegisteredStudy) -> Iterator[Deviation]:
    """Runs that were trained more than once: the better result could have been kept."""
    for each in study.planned:
        if each.run is not None and (repeats := each.run.record.repeats):
            times = counted(repeats, "time")
            yield Deviation(Kind.repeated, f"{each.name}: trained anew {times} after it had finished")


def _analysis(study: RegisteredStudy) -> Iterator[Deviation]:
    """Other rules than the plan's; none of a plan that other code judges."""
    if study.last_of_rules is not None:
        return
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
    expected = pilots or {most_frequent([run.record.origin.precision_text for run in study.finished]) or ""}
    whose = "pilots" if pilots else "most runs"
    stated = f"{whose} trained in {', '.join(sorted(expected))}"
    yield from _others(study, Kind.precision, lambda origin: origin.precision_text, expected, stated)


def _machines(study: RegisteredStudy) -> Iterator[Deviation]:
    """Other packages and machines than the pilots' or, without pilots, than those of most runs; a line each.

    Machines with a processor that the plan names are no deviation.
    """
    pilots, records = study.registration.pilots, [run.record for run in study.finished]
    yield from _differing(Kind.packages, [pilot.versions for pilot in pilots], map(package_versions, records))
    allowed = study.registration.plan.terms.processors
    machines = [
        {"machine": text}
        for record in records
        if (text := hardware_text(record)) and not any(processor in text for processor in allowed)
    ]
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
    """By fact, the runs that have an attempt with another fact than expected."""
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
    """Pilots that have changed since the plan was frozen, and further ones."""
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
