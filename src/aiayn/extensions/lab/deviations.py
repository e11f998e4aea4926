"""Every deviation of a pre-registered study from its frozen plan."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from aiayn.extensions.lab.registered import ANALYSIS, PlannedRun, RegisteredStudy, most_frequent
from aiayn.extensions.lab.registrations import FOLDER, HASH_DIGITS, read_looks
from aiayn.reports.numbers import counted
from aiayn.reports.reported_runs import ReportedRun
from aiayn.reports.run_facts import hardware_text, package_versions
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import read_entry, read_results
from aiayn.runs.provenance import Origin
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
    look = "look"


@dataclass(frozen=True)
class Deviation:
    """A deviation from a frozen plan."""

    kind: Kind
    """The kind of the deviation."""
    text: str
    """The deviation in words."""


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
    """Runs with a row's settings that are neither planned nor pilots of any study, with the row; pilots have none."""
    plan = study.registration.plan
    if not plan.claims:
        return
    known = {(study.folder / name).resolve() for name in plan.runs}
    for entry in read_results(study.folder):
        if entry.record is None or entry.directory.path.resolve() in known or not files.is_file(entry.directory.config):
            continue
        run = ReportedRun(entry, entry.record)
        yield from ((name, run) for name, row in plan.rows.items() if run.settings == row.settings)


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
    """Other code than the plan's, other precisions than those of most runs."""
    code = study.registration.code.text
    yield from _others(study, Kind.code, lambda origin: origin.code.text, code, f"the plan was frozen by {code}")
    precision = most_frequent([run.record.origin.precision_text for run in study.finished]) or ""
    stated = f"most runs trained in {precision}"
    yield from _others(study, Kind.precision, lambda origin: origin.precision_text, precision, stated)


def _machines(study: RegisteredStudy) -> Iterator[Deviation]:
    """Other packages and machines than those of most runs; a line each.

    Machines with a processor that the plan names are no deviation.
    """
    records = [run.record for run in study.finished]
    yield from _differing(Kind.packages, map(package_versions, records))
    allowed = study.registration.plan.terms.processors
    machines = [{"machine": text} for record in records if (text := hardware_text(record))]
    others = (facts for facts in machines if not any(processor in facts["machine"] for processor in allowed))
    yield from _differing(Kind.hardware, others)


def _differing(kind: Kind, of_runs: Iterable[Facts]) -> Iterator[Deviation]:
    """The facts of runs that are not those of most, in one line; empty ones are unknown."""
    known, parts = [facts for facts in of_runs if facts], []
    for name in sorted({name for facts in known for name in facts}):
        (expected, _), *others = Counter(facts.get(name, "unknown") for facts in known).most_common()
        if others:
            listed = ", ".join(f"{counted(count, 'run')} with {name} {value}" for value, count in others)
            parts.append(f"{listed}, most runs with {expected}")
    if parts:
        yield Deviation(kind, "; ".join(parts))


def _others(
    study: RegisteredStudy, kind: Kind, fact: Callable[[Origin], str], expected: str, stated: str
) -> Iterator[Deviation]:
    """By fact, the runs that have an attempt with another fact than expected."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for each in study.planned:
        if each.run is not None:
            record = each.run.record
            for other in dict.fromkeys(fact(origin) for origin in (*record.earlier, record.origin)):
                if other != expected:
                    found[other].append(each.name)
    for other, names in found.items():
        yield Deviation(kind, f"{other}: {_names(names)}; {stated}")


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed) if len(listed) <= MOST_RUNS else counted(len(listed), "run")
