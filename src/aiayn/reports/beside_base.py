"""Whether a run's system is better than base: the difference that reports print, for one run.

A system is the runs that differ by their seed alone. Of a row of Table 3, base and intervals are those of `aiayn report
table3`. Of any other run, base is the system of table3/base on the same data at the same scale and budget whose
settings differ the least.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiayn.config.difference import PLANNED_SEEDS_VARIABLE
from aiayn.config.identity import OWN_SOURCES
from aiayn.evaluation.significance import Effect
from aiayn.paper.claims import Metric
from aiayn.paper.tables import load_table3
from aiayn.reports.budgets import budget_differences, budgets_text
from aiayn.reports.comparability import (
    PREFIX,
    comparable_runs,
    condition_differences,
    score_differences,
    setting_differences,
)
from aiayn.reports.comparison import BASE
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.reported_runs import ReportedRun, runs_of
from aiayn.reports.studies import closed_runs, runs_without_looks
from aiayn.reports.tables.table3_results import Report, measured_rows
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import Entry, State, read_results
from aiayn.runs.record import Record
from aiayn.runs.search import name_below

Summary = Mapping[str, float | int | str]
"""Numbers and words of a tracker's summary, by name."""

VERDICT = "vs_base/verdict"
"""The entry that appears once the planned seeds are in."""


@dataclass(frozen=True)
class BesideBase:
    """A system minus base on the development set."""

    effects: Mapping[Metric, Effect]
    """Of log PPL and BLEU."""
    bleu_name: str
    """BLEU, or BLEU_none."""
    seeds: Sequence[int]
    """Of the system's finished runs."""
    base_seeds: Sequence[int]
    budgets: str = ""
    """Those of the system and of base, where they are not equal."""

    @property
    def verdict(self) -> str | None:
        """By the 95% interval of log PPL of the present runs: better, worse or open; None without an interval."""
        effect = self.effects[Metric.ppl]
        if effect.low is None or effect.high is None:
            return None
        return "better" if effect.high < 0 else "worse" if effect.low > 0 else "open"

    def summary(self, *, is_whole: bool) -> Summary:
        """By the names that trackers show, without what is unknown; a verdict is due once all planned seeds are in."""
        found: dict[str, float | int | str | None] = {}
        for metric, name in {Metric.ppl: "ppl", Metric.bleu: self.bleu_name.lower()}.items():
            effect = self.effects[metric]
            found |= {f"vs_base/{name}": effect.estimate}
            found |= {f"vs_base/{name}_low": effect.low, f"vs_base/{name}_high": effect.high}
        found |= {"vs_base/seeds": len(self.seeds), "vs_base/base_seeds": len(self.base_seeds)}
        found |= {"vs_base/budgets": self.budgets or None, VERDICT: self.verdict if is_whole else None}
        return {name: value for name, value in found.items() if value is not None}


def at_the_end(directory: RunDirectory, record: Record, runs: Path) -> Summary:
    """The summary of a run that ends now, with its scores; empty where it has no base, or is one.

    A run of a pre-registered study has none unless the plan allows looks.

    Raises:
        UserError: a file of a run cannot be read, or runs contradict each other.
    """
    if record.trial is not None or name_below(runs, directory.path) in runs_without_looks(runs):
        return {}
    found = beside_base(directory, record, runs)
    planned = {int(seed) for seed in os.environ.get(PLANNED_SEEDS_VARIABLE, "").split()}
    if found is None:
        return {}
    return found.summary(is_whole=bool(planned) and planned <= {*found.seeds} & {*found.base_seeds})


def beside_base(directory: RunDirectory, record: Record, runs: Path) -> BesideBase | None:
    """The system of a run with scores beside base; None if there is no base of its budget, or the run is base.

    Args:
        directory: of the run.
        record: of the run; its state on disk does not matter.
        runs: the folder of the runs to compare with.

    Raises:
        UserError: a file of a run cannot be read, or runs contradict each other.
    """
    dev = record.scores.get("dev")
    if dev is None or dev.brackets is not None or (record.experiment == BASE and not record.difference):
        return None
    path = directory.path.resolve()
    own = Entry(directory, State.finished, record, record.steps, record.seconds, None)
    entries = [own, *(entry for entry in read_results(runs) if entry.directory.path.resolve() != path)]
    rows = {f"{PREFIX}{row.id}" for row in load_table3().rows}
    if record.experiment in rows and record.experiment != BASE:
        return _row_beside_base(record, entries, runs, like=str(directory.path))
    return _system_beside_base(ReportedRun(own, record), entries)


def _row_beside_base(record: Record, entries: Sequence[Entry], runs: Path, *, like: str) -> BesideBase | None:
    """A row of Table 3, of the runs that compare with the run `like`."""
    comparable = comparable_runs(entries, runs, scale=None, data=None, like=like)
    table, row = load_table3(), load_table3().row(record.experiment.removeprefix(PREFIX))
    effects = effects_between(measured_rows(comparable), row.id, "base")
    if effects is None:
        return None
    own, base = (comparable.scored(each) for each in (row, table.row("base")))
    return beside(effects, own, base)


def effects_between(rows: MeasuredRows, row: str, base: str) -> dict[Metric, Effect] | None:
    """A row minus base by both metrics; None where one is not known."""
    found = {metric: rows.difference(metric, row, base) for metric in Metric}
    known = {metric: effect for metric, effect in found.items() if effect is not None}
    return known if len(known) == len(found) else None


def _system_beside_base(own: ReportedRun, entries: Sequence[Entry]) -> BesideBase | None:
    """A system outside Table 3, or a variation of base."""
    alike = [run for run in _comparable(own, entries) if run.record.experiment == own.record.experiment]
    system = [run for run in alike if run.settings == own.settings]
    bases: dict[str, list[ReportedRun]] = {}
    for run in _comparable(own, entries):
        is_base = run.record.experiment == BASE and OWN_SOURCES not in run.settings and run.settings != own.settings
        if is_base and not any(budget_differences(own, run)):
            bases.setdefault(repr(sorted(run.settings.items())), []).append(run)
    if not bases:
        return None
    base = min(bases.values(), key=lambda found: (len([*setting_differences(own, found[0])]), -len(found)))
    effects = effects_between(MeasuredRows.of({"system": system, "base": base}), "system", "base")
    assert effects is not None
    return beside(effects, system, base)


def beside(effects: Mapping[Metric, Effect], system: Sequence[ReportedRun], base: Sequence[ReportedRun]) -> BesideBase:
    """A system beside base, with both budgets where they differ."""
    seeds, base_seeds = ([run.record.seed for run in each] for each in (system, base))
    name, budgets = system[0].record.scores["dev"].bleu_name, budgets_text(system[0], base[0])
    return BesideBase(effects, name, seeds, base_seeds, budgets)


def _comparable(own: ReportedRun, entries: Sequence[Entry]) -> Iterator[ReportedRun]:
    """The finished runs on the same data at the same scale, scored on the same sentences."""
    for run in runs_of(ReportedRun, entries, [own.record.experiment, BASE]):
        dev = run.scores("dev")
        if dev is None or any(condition_differences(run, own)):
            continue
        if not any(score_differences(dev, own.record.scores["dev"], "dev")):
            yield run


def of_table(report: Report, runs: Path) -> dict[Path, Summary]:
    """The summaries of a table's finished runs, by run directory; of those in a study, once they may be looked at.

    A verdict is due for a row if neither it nor base has a run that has not finished.
    """
    finished = {line.row.id: [run for run in report.finished if run.row.id == line.row.id] for line in report.lines}
    unfinished = {run.row.id for run in report.unfinished}
    closed = closed_runs(runs)
    found: dict[Path, Summary] = {}
    for line in report.lines:
        effects = {metric: each.difference for metric, each in line.measured.items() if each.difference is not None}
        if len(effects) < len(Metric):
            continue
        found_beside = beside(effects, finished[line.row.id], finished["base"])
        summary = found_beside.summary(is_whole=not {line.row.id, "base"} & unfinished)
        found |= {run.path: summary for run in finished[line.row.id] if name_below(runs, run.path) not in closed}
    return found
