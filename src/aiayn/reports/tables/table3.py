"""Table 3 with ours beside the paper's: rows, differences to base, claims and rank correlations, from records."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aiayn.errors import UserError
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.evaluation.significance import (
    Bootstrap,
    Correlation,
    Floats,
    Interval,
    bootstrap,
    rank_correlation,
    sentence_columns,
)
from aiayn.paper.claims import Metric, load_claims
from aiayn.paper.table3 import SETTINGS, Cell, Row, Setting, load_table3
from aiayn.reports.code_versions import CodeVersion, code_versions, version_remarks
from aiayn.reports.scope import EVERYTHING, Scope, scope_of
from aiayn.reports.table3_runs import ComparableRuns, RowRun, comparable_runs
from aiayn.reports.verdicts import JudgedClaim, judge, of_metric
from aiayn.runs.ledger import State

FEWEST_RANKS = 3
"""Rows below which a rank correlation says nothing."""


@dataclass(frozen=True)
class Measurement:
    """One metric of one row, ours."""

    value: float
    """The mean over seeds."""
    deviation: float | None
    """The standard deviation over seeds; None where there is one."""
    difference: Interval | None
    """The row minus our base; None for base itself, and while base is not there."""


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    row: Row
    state: str
    """finished, or what became of the runs that are not; pending where there is none."""
    seeds: tuple[int, ...]
    """Of the finished runs."""
    parameters: int | None
    """Trainable parameters, ours."""
    measured: Mapping[Metric, Measurement]
    """Empty until a run has finished."""
    trained: Mapping[str, Setting] = field(default_factory=dict)
    """Ours of the settings that the table has columns for, by key, from the frozen configuration; empty as above."""

    @property
    def changes_trained(self) -> dict[str, Setting]:
        """Ours of the settings that the row states: base all, the others those in which they differ from it."""
        stated = load_table3().base if self.row.group == "base" else self.row.changes
        return {key: self.trained[key] for key in stated if key in self.trained}


@dataclass(frozen=True)
class Report:
    """All that is shown, whatever the format."""

    lines: tuple[Line, ...]
    claims: tuple[JudgedClaim, ...]
    correlations: Mapping[Metric, Correlation]
    """Between the paper's column and ours, over the rows that are there; empty for fewer than three."""
    conditions: Mapping[str, str]
    """What all runs share: scale, data, split and size, BLEU signature; empty while there are none."""
    seed_deviations: Mapping[Metric, float]
    """The standard deviation over seeds, from all rows together; empty where none has two."""
    resamples: int
    runs: tuple[Path, ...]
    """The finished runs that were read."""
    remarks: tuple[str, ...]
    """What else a reader has to know."""
    scope: Scope = EVERYTHING
    """What these runs can test."""
    versions: tuple[CodeVersion, ...] = ()
    """Of the code, which made the finished runs."""


def paper_cell(row: Row, metric: Metric) -> Cell:
    """What the paper prints for a row."""
    return row.ppl if metric is Metric.ppl else row.bleu


def paper_value(row: Row, metric: Metric) -> float:
    """The same as a number; the paper leaves none of these blank."""
    value = paper_cell(row, metric).value
    assert value is not None
    return value


def table3_report(
    runs: Path, *, scale: str | None, data: str | None, like: str | None, resamples: int, seed: int
) -> Report:
    """Read the runs below a folder and compare them with the paper.

    Args:
        runs: the folder.
        scale: only runs of this scale.
        data: only runs on this corpus, by name or by the first digits of its fingerprint.
        like: a run; leave out what does not compare with it.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        UserError: runs that would share a column do not compare, or a file cannot be read.
    """
    comparable = comparable_runs(runs, scale=scale, data=data, like=like)
    return report_of(comparable, resamples=resamples, seed=seed)


def report_of(comparable: ComparableRuns, *, resamples: int, seed: int) -> Report:
    """Compare runs that make one table with the paper.

    Args:
        comparable: the runs.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        UserError: the scores of a run's sentences cannot be read.
    """
    scored = {row.id: found for row in load_table3().rows if (found := comparable.scored(row))}
    places = {row_id: place for place, row_id in enumerate(scored)}
    measured = None
    if scored:
        systems = [[_sentences(run) for run in found] for found in scored.values()]
        measured = bootstrap(systems, resamples=resamples, seed=seed)
    finished = [run for found in scored.values() for run in found]
    versions = code_versions((run.path, run.record) for run in finished)
    return Report(
        lines=tuple(_line(row, comparable, measured, places) for row in load_table3().rows),
        claims=tuple(judge(claim, measured, places) for claim in load_claims()),
        correlations=_correlations(measured, list(scored)),
        conditions=_conditions(finished),
        seed_deviations=_seed_deviations(measured),
        resamples=resamples,
        runs=tuple(run.path for run in finished),
        remarks=(*_remarks(comparable, finished), *version_remarks(versions)),
        scope=scope_of(finished),
        versions=versions,
    )


def _sentences(run: RowRun) -> Floats:
    dev = run.record.scores["dev"]
    path = (run.path / dev.hypotheses).with_name("dev.sentences.jsonl")
    rows = read_sentence_scores(path)
    if len(rows) != dev.sentences:
        raise UserError(
            f"{path}: {len(rows)} sentences where the record counts {dev.sentences}; evaluate the run again"
        )
    return sentence_columns(rows)


def _line(row: Row, comparable: ComparableRuns, measured: Bootstrap | None, places: Mapping[str, int]) -> Line:
    runs, scored = comparable.of(row), comparable.scored(row)
    unfinished = Counter(run.entry.state.value for run in runs if run not in scored)
    words = ["finished"] if scored else []
    words += [state if count == 1 and not scored else f"{count} {state}" for state, count in unfinished.items()]
    values = {}
    if measured is not None and row.id in places:
        values = {metric: _measurement(measured, metric, places, row.id) for metric in Metric}
    return Line(
        row=row,
        state=", ".join(words) or "pending",
        seeds=tuple(run.record.seed for run in scored),
        parameters=scored[0].record.parameters if scored else None,
        measured=values,
        trained={key: scored[0].settings[key] for key in SETTINGS if key in scored[0].settings} if scored else {},
    )


def _measurement(measured: Bootstrap, metric: Metric, places: Mapping[str, int], row_id: str) -> Measurement:
    results, place = of_metric(measured, metric), places[row_id]
    deviation = float(results.deviations[place])
    has_base = "base" in places and row_id != "base"
    return Measurement(
        value=float(results.values[place]),
        deviation=None if math.isnan(deviation) else deviation,
        difference=results.difference(place, places["base"]) if has_base else None,
    )


def _correlations(measured: Bootstrap | None, row_ids: Sequence[str]) -> dict[Metric, Correlation]:
    if measured is None or len(row_ids) < FEWEST_RANKS:
        return {}
    rows = [load_table3().row(row_id) for row_id in row_ids]
    return {
        metric: rank_correlation([paper_value(row, metric) for row in rows], of_metric(measured, metric))
        for metric in Metric
    }


def _seed_deviations(measured: Bootstrap | None) -> dict[Metric, float]:
    found = {} if measured is None else {metric: of_metric(measured, metric).seed_deviation for metric in Metric}
    return {metric: deviation for metric, deviation in found.items() if deviation is not None}


def _conditions(finished: Sequence[RowRun]) -> dict[str, str]:
    if not finished:
        return {}
    dev = finished[0].record.scores["dev"]
    return {
        **finished[0].conditions,
        "fidelity": finished[0].record.fidelity,
        "split": f"dev, {dev.sentences:,} sentences",
        dev.bleu_name: dev.quality.signature,
    }


def _remarks(comparable: ComparableRuns, finished: Sequence[RowRun]) -> list[str]:
    remarks = []
    if comparable.left_out:
        runs = (
            "1 run of these rows was" if comparable.left_out == 1 else f"{comparable.left_out} runs of these rows were"
        )
        remarks.append(f"{runs} left out: another scale, corpus or configuration.")
    remarks += [
        f"{run.row.id}, seed {run.record.seed}, ended after {run.record.steps_done()} steps."
        for run in finished
        if run.record.max_steps is not None and run.record.steps < run.record.max_steps
    ]
    remarks += [
        f"{run.row.id}, seed {run.record.seed}, {run.entry.state}: {' '.join((run.entry.message or '').split())}"
        for run in comparable.runs
        if run.entry.state is State.failed
    ]
    return remarks
