"""Any runs compared: their settings, scores, differences to a reference, and scores by source length."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from aiayn.config.identity import OWN_SOURCES
from aiayn.config.report_schema import OnlyComparedConfig
from aiayn.errors import UserError
from aiayn.evaluation.lengths import length_parts
from aiayn.evaluation.significance import (
    Effect,
    Measured,
    Measurements,
    bleu_scores,
    measure,
    perplexities,
)
from aiayn.reports.budgets import budget_differences
from aiayn.reports.code_versions import CodeVersion, code_versions
from aiayn.reports.comparability import (
    Difference,
    check_alike,
    check_duplicate_seeds,
    condition_differences,
    score_differences,
)
from aiayn.reports.reported_runs import ReportedRun, is_asked_for, readable_runs
from aiayn.reports.systems import System, systems
from aiayn.runs.directory import open_run
from aiayn.runs.ledger import pilots_left_out, read_results
from aiayn.system.documents import NullIsInfinity

BASE = "table3/base"
"""The reference unless another is named."""

EXPERIMENT = "experiment"
"""The column of experiments, beside those of keys."""

Settings = Mapping[str, Any]
"""The experiment, and everything in the configuration that can change a result, by key."""


@dataclass(frozen=True)
class ComparedRun(ReportedRun):
    """A finished run with scores of the development set."""

    @cached_property
    def stated(self) -> Settings:
        """Its experiment and settings."""
        return {EXPERIMENT: self.record.experiment, **self.settings}


@dataclass(frozen=True)
class ComparedSystem(System[ComparedRun]):
    """Runs that differ by their seed alone, all of them finished."""

    @property
    def settings(self) -> Settings:
        """Shared by all of them."""
        return self.runs[0].stated


@dataclass(frozen=True)
class Bucket:
    """Sentences of similar source length."""

    shortest: int
    """The fewest source tokens, end mark included."""
    longest: int
    """The most source tokens, end mark included."""
    is_unseen: bool
    """Whether the sources are longer than those of any system's training (`data.max_length`)."""
    ppl: Sequence[Annotated[float, NullIsInfinity]]
    """Perplexity of each system."""
    bleu: Sequence[float]
    """BLEU of each system."""


@dataclass(frozen=True)
class Comparison:
    """Systems on the same sentences."""

    systems: Sequence[ComparedSystem]
    columns: Sequence[str]
    """The keys that distinguish systems: the experiment, and those in which runs of one experiment differ."""
    differing: Sequence[str]
    """All keys in which they differ, except the experiment."""
    measured: Measurements
    reference: int | None
    """The index of the system that others are compared with; None if there is none."""
    of_other_budgets: Sequence[int]
    """The systems that have no difference to the reference, since their budgets differ (`aiayn.reports.budgets`)."""
    buckets: Sequence[Bucket]
    left_out: Sequence[str]
    """A line for each study whose finished pilots are left out."""

    @property
    def runs(self) -> list[ComparedRun]:
        """All runs, by system."""
        return [run for system in self.systems for run in system.runs]

    @property
    def versions(self) -> tuple[CodeVersion, ...]:
        """Of the code that made the runs."""
        return code_versions((run.path, run.record) for run in self.runs)

    @property
    def seeds_in_intervals(self) -> str:
        """Whether the intervals include the variation between seeds."""
        counts = [len(system.runs) for system in self.systems]
        noises = [metric.noise for metric in self.metrics.values()]
        if any(noise is None for noise in noises):
            return (
                "no intervals: every system has one seed, so the variation between seeds is unknown, and a difference "
                "may be one of seeds"
            )
        ppl, bleu = (noise.deviation for noise in noises if noise is not None)
        of_one = f"; systems with one seed: {counts.count(1)} of {len(counts)}" if 1 in counts else ""
        deviations = f"{ppl:.3f} log PPL and {bleu:.2f} BLEU, from all systems"
        return f"95% intervals include the standard deviation between seeds ({deviations}){of_one}"

    @property
    def conditions(self) -> dict[str, str]:
        """Shared by all runs."""
        run = self.runs[0]
        return {**run.conditions, **run.dev_conditions}

    @property
    def metrics(self) -> dict[str, Measured]:
        """The measurements by metric."""
        return {"ppl": self.measured.ppl, "bleu": self.measured.bleu}

    def differences(self, system: int) -> dict[str, Effect]:
        """A system minus the reference in log PPL and BLEU; empty for the reference, other budgets, and without one."""
        if self.reference is None or system in (self.reference, *self.of_other_budgets):
            return {}
        return {name: metric.difference(system, self.reference) for name, metric in self.metrics.items()}


def compare(
    runs: Path,
    only: OnlyComparedConfig,
    *,
    kind: str | None = None,
    against: str | None = None,
) -> Comparison:
    """Compare the finished runs below a folder.

    Args:
        runs: the folder.
        only: the runs to compare.
        kind: only runs of this kind of model.
        against: the run whose system others are compared with; None: that of `BASE` with the fewest changes.

    Raises:
        UserError: there are no such runs, they do not compare, or a file cannot be read.
    """
    chosen = [run for run in _finished(runs, only) if kind in (None, run.settings["model.kind"])]
    if not chosen:
        asked = ", ".join(f"only.{key}={value}" for key, value in vars(only).items() if value is not None)
        complaint = f"no finished run {'' if kind is None else f'of a {kind} '}on translations below {runs}"
        complaint = f"{asked}: {complaint}" if asked else complaint
        raise UserError(f"{complaint}; aiayn status lists those that are there")
    check_alike(chosen, _differences, "choose with only.experiment=")
    check_duplicate_seeds(chosen, lambda run: _identity(run.stated), "choose with only.sweep= or only.experiment=")
    by_seed = sorted(chosen, key=lambda run: run.record.seed)
    alike = systems(by_seed, lambda run: _identity(run.stated), split="dev")
    compared = [ComparedSystem(each.runs, "dev") for each in alike]
    settings = [system.settings for system in compared]
    columns = _columns(settings)
    compared.sort(key=lambda system: [sort_key(system.settings.get(key)) for key in columns])
    sentences = [[run.columns("dev") for run in system.runs] for system in compared]
    reference = _reference(compared, against)
    return Comparison(
        systems=compared,
        columns=columns,
        differing=[key for key in _differing(settings) if key != EXPERIMENT],
        measured=measure(sentences),
        reference=reference,
        of_other_budgets=[n for n, system in enumerate(compared) if not _has_budget_of(system, compared, reference)],
        buckets=list(_buckets(compared)),
        left_out=list(pilots_left_out(runs)),
    )


def _has_budget_of(system: ComparedSystem, systems: Sequence[ComparedSystem], reference: int | None) -> bool:
    return reference is None or not any(budget_differences(system.runs[0], systems[reference].runs[0]))


def _finished(runs: Path, only: OnlyComparedConfig) -> Iterator[ComparedRun]:
    entries = read_results(runs, with_warnings=True)
    found = (ComparedRun(entry, entry.record) for entry in entries if entry.record is not None)
    scored = (run for run in found if (dev := run.scores("dev")) and dev.brackets is None)  # trees have no BLEU
    return (run for run in readable_runs(scored, "dev") if is_asked_for(run, only))


def _differences(run: ComparedRun, other: ComparedRun) -> Iterator[Difference]:
    yield from condition_differences(run, other)
    yield from score_differences(run.record.scores["dev"], other.record.scores["dev"], "dev")


def _identity(settings: Settings) -> str:
    return repr(sorted(settings.items(), key=lambda item: item[0]))


def _differing(settings: Sequence[Settings]) -> list[str]:
    """The keys in which some differ, the experiment first."""
    keys = dict.fromkeys(key for each in settings for key in each)
    return [key for key in keys if len({repr(each.get(key)) for each in settings}) > 1]


def _columns(settings: Sequence[Settings]) -> list[str]:
    """The keys that distinguish settings: an experiment with a single system stands for all its settings."""

    def name(of: Settings) -> str:
        return str(of[EXPERIMENT])

    within = {key for _, alike in groupby(sorted(settings, key=name), key=name) for key in _differing(list(alike))}
    return [key for key in _differing(settings) if key == EXPERIMENT or key in within] or [EXPERIMENT]


def sort_key(value: Any) -> tuple[int, float, str]:
    """Numbers by size, then words."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value), "") if is_number else (1, 0.0, str(value))


def _reference(systems: Sequence[ComparedSystem], against: str | None) -> int | None:
    if against is None:
        # A run with a class of the user's own is no base, whatever its experiment.
        bases = (n for n, system in enumerate(systems) if system.settings[EXPERIMENT] == BASE)
        plain = (n for n in bases if OWN_SOURCES not in systems[n].settings)
        return min(plain, key=lambda n: len(systems[n].runs[0].record.difference.split()), default=None)
    path = open_run(against, key="against").path.resolve()
    for number, system in enumerate(systems):
        if any(run.path.resolve() == path for run in system.runs):
            return number
    raise UserError(f"against={against}: not among the runs that are compared; choose one of them")


def _buckets(systems: Sequence[ComparedSystem]) -> Iterator[Bucket]:
    """The sentences by source length; lengths that no training had are apart."""
    lengths = [row.source_tokens for row in systems[0].runs[0].sentences("dev")]
    trained = max(int(system.settings["data.max_length"]) for system in systems)
    for inside in length_parts(lengths, border=trained):
        ppl, bleu = (
            [
                float(np.mean([score(run.columns("dev")[inside].sum(axis=0)) for run in system.runs]))
                for system in systems
            ]
            for score in (perplexities, bleu_scores)
        )
        part = list(compress(lengths, inside))
        yield Bucket(min(part), max(part), min(part) > trained, ppl, bleu)
