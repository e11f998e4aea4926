"""Any runs compared: their settings, scores, differences to a reference, and scores by source length."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aiayn.config.identity import result_leaves
from aiayn.config.report_schema import OnlyComparedConfig
from aiayn.errors import UserError
from aiayn.evaluation.sentences import SentenceScores
from aiayn.evaluation.significance import (
    Bootstrap,
    Floats,
    Interval,
    bleu_scores,
    bootstrap,
    perplexities,
    sentence_columns,
)
from aiayn.reports.code_versions import CodeVersion, code_versions
from aiayn.reports.comparability import (
    Difference,
    ReportedRun,
    check_alike,
    check_duplicate_seeds,
    condition_differences,
    is_asked_for,
    score_differences,
)
from aiayn.runs.directory import open_run
from aiayn.runs.ledger import read_results
from aiayn.runs.record import Record

BASE = "table3/base"
"""The reference unless another is named."""

BUCKETS = 5
"""By source length, of about equally many sentences."""

EXPERIMENT = "experiment"
"""The column of experiments, beside those of keys."""

Settings = Mapping[str, Any]
"""The experiment, and everything in the configuration that can change a result, by key."""


@dataclass(frozen=True)
class ComparedRun(ReportedRun):
    """A finished run, and its sentences of the development set."""

    stated: Settings
    rows: Sequence[SentenceScores]


@dataclass(frozen=True)
class System:
    """Runs that differ by their seed alone."""

    runs: Sequence[ComparedRun]

    @property
    def settings(self) -> Settings:
        """Shared by all of them."""
        return self.runs[0].stated

    def mean(self, of: Callable[[Record], float | None]) -> float | None:
        """Of a number of the record, over seeds; None if a run lacks it."""
        values = [of(run.record) for run in self.runs]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if len(known) == len(values) else None


@dataclass(frozen=True)
class Bucket:
    """Sentences of similar source length."""

    shortest: int
    """Tokens, end mark included."""
    longest: int
    is_unseen: bool
    """Whether the sources are longer than those of any system's training (`data.max_length`)."""
    ppl: Sequence[float]
    """Of each system."""
    bleu: Sequence[float]


class Differences(NamedTuple):
    """A system minus the reference."""

    ppl: Interval
    bleu: Interval


@dataclass(frozen=True)
class Comparison:
    """Systems on the same sentences."""

    systems: Sequence[System]
    columns: Sequence[str]
    """The keys that tell systems apart: the experiment, and those in which runs of one experiment differ."""
    differing: Sequence[str]
    """All keys in which they differ, except the experiment."""
    measured: Bootstrap
    reference: int | None
    """The index of the system that others are compared with; None if there is none."""
    buckets: Sequence[Bucket]
    """Empty if an evaluation did not record source lengths."""

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
        if max(counts) == 1:
            return (
                "every system has one seed: the intervals are of these sentences alone and leave the variation between "
                "seeds out, so that a difference may be one of seeds"
            )
        ppl, bleu = (metric.seed_deviation or 0.0 for metric in (self.measured.ppl, self.measured.bleu))
        single = sum(count == 1 for count in counts)
        of_one = f"; systems with one seed: {single} of {len(counts)}" if single else ""
        deviations = f"{ppl:.3f} PPL and {bleu:.2f} BLEU, from all systems"
        return f"the intervals include the standard deviation between seeds ({deviations}){of_one}"

    @property
    def conditions(self) -> dict[str, str]:
        """Shared by all runs."""
        run = self.runs[0]
        return {**run.conditions, **run.dev_conditions}

    def differences(self, system: int) -> Differences | None:
        """A system minus the reference; None for the reference."""
        if self.reference is None or system == self.reference:
            return None
        ppl, bleu = self.measured.ppl, self.measured.bleu
        return Differences(ppl.difference(system, self.reference), bleu.difference(system, self.reference))


def compare(
    runs: Path,
    only: OnlyComparedConfig,
    *,
    kind: str | None = None,
    against: str | None = None,
    resamples: int,
    seed: int,
) -> Comparison:
    """Compare the finished runs below a folder.

    Args:
        runs: the folder.
        only: the runs to compare.
        kind: only runs of this kind of model.
        against: the run whose system others are compared with; None: that of `BASE`.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        UserError: there are no such runs, they do not compare, or a file cannot be read.
    """
    chosen = [run for run in _finished(runs, only) if kind in (None, run.stated["model.kind"])]
    if not chosen:
        asked = ", ".join(f"only.{key}={value}" for key, value in vars(only).items() if value is not None)
        runs_of_it = f"run {'' if kind is None else f'of a {kind} '}on translations"
        complaint = f"{asked}: no finished {runs_of_it} below {runs} is so"
        complaint = complaint if asked else f"no {runs_of_it} below {runs} has finished"
        raise UserError(f"{complaint}; aiayn status lists those that are there")
    check_alike(chosen, _differences, "choose with only.experiment=")
    check_duplicate_seeds(chosen, lambda run: _identity(run.stated), "choose with only.sweep= or only.experiment=")
    alike: dict[str, list[ComparedRun]] = {}
    for run in chosen:
        alike.setdefault(_identity(run.stated), []).append(run)
    systems = [System(sorted(each, key=lambda run: run.record.seed)) for each in alike.values()]
    settings = [system.settings for system in systems]
    columns = _columns(settings)
    systems.sort(key=lambda system: [_sort_key(system.settings.get(key)) for key in columns])
    sentences = [[sentence_columns(run.rows) for run in system.runs] for system in systems]
    return Comparison(
        systems=systems,
        columns=columns,
        differing=[key for key in _differing(settings) if key != EXPERIMENT],
        measured=bootstrap(sentences, resamples=resamples, seed=seed),
        reference=_reference(systems, against),
        buckets=list(_buckets(systems)),
    )


def _finished(runs: Path, only: OnlyComparedConfig) -> Iterator[ComparedRun]:
    for entry in read_results(runs):
        if entry.record is None:
            continue
        run = ReportedRun(entry, entry.record)
        dev = run.scores("dev")
        if dev is None or dev.brackets is not None or not is_asked_for(run, only):  # trees have no BLEU
            continue
        stated = {EXPERIMENT: run.record.experiment, "fidelity": run.record.fidelity, **result_leaves(run.content)}
        stated.pop("seed", None)
        if "data.max_length" not in stated:
            raise UserError(f"{entry.directory.config}: not the configuration of a run (no data.max_length)")
        yield ComparedRun(entry, entry.record, stated, run.sentences("dev"))


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
    """The keys that tell settings apart: an experiment with a single system stands for all its settings."""

    def name(of: Settings) -> str:
        return str(of[EXPERIMENT])

    within = {key for _, alike in groupby(sorted(settings, key=name), key=name) for key in _differing(list(alike))}
    return [key for key in _differing(settings) if key == EXPERIMENT or key in within] or [EXPERIMENT]


def _sort_key(value: Any) -> tuple[int, float, str]:
    """Numbers by size, then words."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value), "") if is_number else (1, 0.0, str(value))


def _reference(systems: Sequence[System], against: str | None) -> int | None:
    if against is None:
        return next((n for n, system in enumerate(systems) if system.settings[EXPERIMENT] == BASE), None)
    path = open_run(against, key="against").path.resolve()
    for number, system in enumerate(systems):
        if any(run.path.resolve() == path for run in system.runs):
            return number
    raise UserError(f"against={against}: not among the runs that are compared; choose one of them")


def _buckets(systems: Sequence[System]) -> Iterator[Bucket]:
    """The sentences by source length, about equally many each; no length is in two buckets.

    The longest length of each system's training replaces the nearest border, so that unseen lengths are apart.
    """
    lengths = [row.source_tokens for row in systems[0].runs[0].rows]
    if any(row.source_tokens is None for system in systems for run in system.runs for row in run.rows):
        return
    known = np.array(lengths, dtype=np.int64)
    trained = [int(system.settings["data.max_length"]) for system in systems]
    quantiles = np.quantile(known, np.linspace(0, 1, BUCKETS + 1)[1:], method="higher")
    for length in {length for length in trained if known.min() <= length < known.max()}:
        quantiles[np.abs(quantiles[:-1] - length).argmin()] = length
    place = np.searchsorted(np.unique(quantiles), known)
    columns = [[sentence_columns(run.rows) for run in system.runs] for system in systems]
    for bucket in np.unique(place):
        inside = place == bucket
        ppl, bleu = (
            [_mean_score(of_seeds, inside, score) for of_seeds in columns] for score in (perplexities, bleu_scores)
        )
        shortest, longest = int(known[inside].min()), int(known[inside].max())
        yield Bucket(shortest, longest, shortest > max(trained), ppl, bleu)


def _mean_score(of_seeds: Sequence[Floats], inside: Any, score: Callable[[Floats], Floats]) -> float:
    return float(np.mean([score(columns[inside].sum(axis=0)) for columns in of_seeds]))
