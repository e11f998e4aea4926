"""Runs side by side, whatever they differ in: what differs, their scores, differences to one of them, by length."""

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from aiayn.config.freeze import frozen_content
from aiayn.config.identity import result_leaves
from aiayn.errors import UserError
from aiayn.evaluation.sentences import SentenceScores, read_sentence_scores
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
from aiayn.runs.directory import open_run
from aiayn.runs.ledger import State, read_results
from aiayn.runs.record import Record

BASE = "table3/base"
"""What others are compared with, where nothing else is asked for."""

BUCKETS = 5
"""Of equally many sentences, by the length of the source."""

EXPERIMENT = "experiment"
"""The column of names, beside those of keys."""

Settings = Mapping[str, Any]
"""What makes a system, by key: its experiment, and everything in its configuration that can change a result."""


@dataclass(frozen=True)
class ScoredRun:
    """One run, and its sentences of the development set."""

    path: Path
    record: Record
    settings: Settings
    sweeps: Sequence[str]
    """All that asked for it."""
    sentences: Sequence[SentenceScores]


@dataclass(frozen=True)
class System:
    """Runs that differ by their seed alone."""

    runs: Sequence[ScoredRun]

    @property
    def settings(self) -> Settings:
        """What they have in common."""
        return self.runs[0].settings

    def mean(self, of: Callable[[Record], float | None]) -> float | None:
        """Of a number of the record, over seeds; None where a run has none."""
        values = [of(run.record) for run in self.runs]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if len(known) == len(values) else None


@dataclass(frozen=True)
class Bucket:
    """Sentences of similar source length."""

    shortest: int
    """Tokens, end mark included."""
    longest: int
    is_unheard: bool
    """Whether the sources are longer than any of any system's training (`data.max_length`)."""
    ppl: Sequence[float]
    """Of each system."""
    bleu: Sequence[float]


@dataclass(frozen=True)
class Comparison:
    """All that is shown."""

    systems: Sequence[System]
    columns: Sequence[str]
    """What tells them apart: the experiment, and keys in which runs of one experiment differ; at least one."""
    differing: Sequence[str]
    """All keys in which they differ, the experiment left out."""
    measured: Bootstrap
    reference: int | None
    """The system that others are compared with; None where there is none."""
    buckets: Sequence[Bucket]
    """Empty where a run does not know its sources' lengths."""

    @property
    def versions(self) -> tuple[CodeVersion, ...]:
        """Of the code, which made the runs."""
        return code_versions((run.path, run.record) for system in self.systems for run in system.runs)

    @property
    def seeds_in_intervals(self) -> str:
        """What the intervals say of other seeds."""
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
        """What all runs share."""
        record = self.systems[0].runs[0].record
        dev = record.scores["dev"]
        return {
            "scale": record.scale,
            "data": f"{record.data} ({(record.data_fingerprint or '')[:12]})",
            "split": f"dev, {dev.sentences:,} sentences",
            dev.bleu_name: dev.quality.signature,
        }

    def differences(self, system: int) -> tuple[Interval, Interval] | None:
        """PPL and BLEU of a system minus those of the reference; None for the reference."""
        if self.reference is None or system == self.reference:
            return None
        return tuple(  # type: ignore[return-value]  # two of them
            metric.difference(system, self.reference) for metric in (self.measured.ppl, self.measured.bleu)
        )


def compare(
    runs: Path,
    *,
    sweep: str | Sequence[str] | None,
    experiment: str | Sequence[str] | None,
    scale: str | None,
    data: str | None,
    kind: str | None = None,
    against: str | None,
    resamples: int,
    seed: int,
) -> Comparison:
    """Read finished runs below a folder and set them side by side.

    Args:
        runs: the folder.
        sweep: only runs of sweeps that match this pattern, or one of these.
        experiment: only experiments that match this pattern, or one of these.
        scale: only runs of this scale.
        data: only runs on this corpus, by name or by the first digits of its fingerprint.
        kind: only runs of this kind of model.
        against: the run whose system others are compared with; None: that of `BASE`.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        UserError: no such runs, runs that do not compare, or a file that cannot be read.
    """
    chosen = [
        run
        for run in _scored_runs(runs, scale=scale, data=data)
        if _is_wanted(run, sweep=sweep, experiment=experiment) and kind in (None, run.settings["model.kind"])
    ]
    if not chosen:
        choices = {"sweep": sweep, "experiment": experiment, "scale": scale, "data": data}
        asked = ", ".join(f"only.{key}={value}" for key, value in choices.items() if value is not None)
        runs_of_it = f"run {'' if kind is None else f'of a {kind} '}on translations"
        complaint = f"{asked}: no finished {runs_of_it} below {runs} is so"
        complaint = complaint if asked else f"no {runs_of_it} below {runs} has finished"
        raise UserError(f"{complaint}; aiayn status lists those that are there")
    _refuse_differing_conditions(chosen)
    systems = _systems(chosen)
    settings = [system.settings for system in systems]
    differing, columns = _differing(settings), _columns(settings)
    systems.sort(key=lambda system: [_sort_key(system.settings.get(key)) for key in columns])
    measured = bootstrap(
        [[sentence_columns(run.sentences) for run in system.runs] for system in systems], resamples=resamples, seed=seed
    )
    keys = [key for key in differing if key != EXPERIMENT]
    return Comparison(systems, columns, keys, measured, _reference(systems, against), list(_buckets(systems)))


def _scored_runs(runs: Path, *, scale: str | None, data: str | None) -> Iterator[ScoredRun]:
    for entry in read_results(runs):
        record = entry.record
        if record is None or entry.state is not State.finished or "dev" not in record.scores:
            continue
        if record.scores["dev"].brackets is not None:
            continue  # trees: nothing to compare by BLEU
        fingerprint = record.data_fingerprint or ""
        if scale not in (None, record.scale) or not (
            data in (None, record.data) or fingerprint.startswith(data or "-")
        ):
            continue
        content = frozen_content(entry.directory.config)
        settings = {EXPERIMENT: record.experiment, "fidelity": record.fidelity, **result_leaves(content)}
        settings.pop("seed", None)
        if "data.max_length" not in settings:
            raise UserError(f"{entry.directory.config}: not the configuration of a run (no data.max_length)")
        path, scores = entry.directory.path, record.scores["dev"]
        file = (path / scores.hypotheses).with_name("dev.sentences.jsonl")
        rows = read_sentence_scores(file)
        if len(rows) != scores.sentences:
            raise UserError(f"{file}: {len(rows)} lines where {scores.sentences} were scored; evaluate the run again")
        sweeps = (*entry.directory.sweeps, (content.get("identity") or {}).get("sweep") or "")
        yield ScoredRun(path, record, settings, sweeps, rows)


def _is_wanted(run: ScoredRun, *, sweep: str | Sequence[str] | None, experiment: str | Sequence[str] | None) -> bool:
    return any_matches(run.sweeps, sweep) and any_matches([run.record.experiment], experiment)


def any_matches(names: Sequence[str], asked: str | Sequence[str] | None) -> bool:
    """Whether one of the names is asked for: matches a pattern or one of several; None asks for any."""
    patterns = [asked or "*"] if isinstance(asked, str | None) else asked
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _refuse_differing_conditions(runs: Sequence[ScoredRun]) -> None:
    first = runs[0]
    for run in runs[1:]:
        for key, own, other, remedy in (
            ("scale", run.record.scale, first.record.scale, "only.scale="),
            ("data", run.record.data_fingerprint, first.record.data_fingerprint, "only.data="),
            ("BLEU", _dev(run).quality.signature, _dev(first).quality.signature, "only.experiment="),
            ("number of dev sentences", _dev(run).sentences, _dev(first).sentences, "only.experiment="),
        ):
            if own != other:
                raise UserError(f"{key} differs, {own} in {run.path} and {other} in {first.path}: choose with {remedy}")


def _dev(run: ScoredRun) -> Any:
    return run.record.scores["dev"]


def _systems(runs: Sequence[ScoredRun]) -> list[System]:
    found: dict[str, list[ScoredRun]] = {}
    for run in runs:
        found.setdefault(repr(sorted(run.settings.items(), key=lambda item: item[0])), []).append(run)
    for twins in found.values():
        seeds = [run.record.seed for run in twins]
        if len({*seeds}) < len(seeds):
            paths = " and ".join(str(run.path) for run in twins)
            raise UserError(f"one seed stands more than once, in {paths}: choose with only.sweep= or only.experiment=")
    return [System(sorted(each, key=lambda run: run.record.seed)) for each in found.values()]


def _differing(settings: Sequence[Settings]) -> list[str]:
    """The keys in which some differ, the experiment's name first."""
    keys = dict.fromkeys(key for each in settings for key in each)
    return [key for key in keys if len({repr(each.get(key)) for each in settings}) > 1]


def _columns(settings: Sequence[Settings]) -> list[str]:
    """What is needed to tell some settings apart: a name that only one has stands for all that it states."""
    of_one_name = groupby(sorted(settings, key=_name), key=_name)
    within = {key for _, alike in of_one_name for key in _differing(list(alike))}
    return [key for key in _differing(settings) if key == EXPERIMENT or key in within] or [EXPERIMENT]


def _name(settings: Settings) -> str:
    return str(settings[EXPERIMENT])


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
    """The sentences by length of the source, in parts of about equally many; none shares a length with another.

    Lengths that training had are kept apart from those that it had not: that border takes the place of the next one.
    """
    lengths = [row.source_tokens for row in systems[0].runs[0].sentences]
    if any(row.source_tokens is None for system in systems for run in system.runs for row in run.sentences):
        return
    known = np.array(lengths, dtype=np.int64)
    heard = [int(system.settings["data.max_length"]) for system in systems]
    quantiles = np.quantile(known, np.linspace(0, 1, BUCKETS + 1)[1:], method="higher")
    for length in {length for length in heard if known.min() <= length < known.max()}:
        quantiles[np.abs(quantiles[:-1] - length).argmin()] = length
    borders = np.unique(quantiles)
    place = np.searchsorted(borders, known)
    columns = [[sentence_columns(run.sentences) for run in system.runs] for system in systems]
    for bucket in range(len(borders)):
        inside = place == bucket
        if inside.any():
            ppl, bleu = (
                [_mean_score(of_seeds, inside, score) for of_seeds in columns] for score in (perplexities, bleu_scores)
            )
            shortest, longest = int(known[inside].min()), int(known[inside].max())
            yield Bucket(shortest, longest, shortest > max(heard), ppl, bleu)


def _mean_score(of_seeds: Sequence[Floats], inside: Any, score: Callable[[Floats], Floats]) -> float:
    return float(np.mean([score(columns[inside].sum(axis=0)) for columns in of_seeds]))
