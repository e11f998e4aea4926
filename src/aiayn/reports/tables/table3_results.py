"""Table 3's results from the records of runs: rows, claims, and agreement with the paper's order."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np

from aiayn.config.report_schema import TableChoice
from aiayn.errors import UserError
from aiayn.evaluation.agreement import Concordance, concordance, spearman
from aiayn.evaluation.matrix import NEAREST_TO_THE_PAPER
from aiayn.evaluation.significance import SeedNoise
from aiayn.paper.claims import Metric, load_claims
from aiayn.paper.tables import load_table3
from aiayn.reports.budgets import budget_remarks
from aiayn.reports.code_versions import CodeVersion, code_versions, version_remarks
from aiayn.reports.comparability import ComparableRuns, RowRun, comparable_runs
from aiayn.reports.endpoints import at, projection_weights
from aiayn.reports.judgement import JudgedClaim, Rules, judge_claims
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.scope import scope_sentence
from aiayn.reports.studies import Study, read_study, study_of_most
from aiayn.reports.tables.table3_rows import Line, line_of
from aiayn.runs.ledger import Entry, State, pilots_left_out, read_results
from aiayn.system.documents import NullIsInfinity

BASE = "base"
"""The row that others are compared with."""

FEWEST_RANKS = 3
"""The fewest rows whose order is compared."""

SEPARATION = 0.02
"""The concordance counts pairs of rows that the paper separates by more than this in log PPL."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of our rows with the paper's order."""

    pairs: Concordance
    """The concordance of log PPL."""
    spearman: Mapping[Metric, Annotated[float, NullIsInfinity]]
    """Spearman's rank correlations; None if all rows are equal."""


@dataclass(frozen=True)
class Report:
    """The table, whatever the format."""

    lines: tuple[Line, ...]
    claims: tuple[JudgedClaim, ...]
    agreement: Agreement | None
    """None for fewer than `FEWEST_RANKS` rows with finished runs."""
    conditions: Mapping[str, str]
    """Shared by all runs: scale, data, split and size, BLEU signature; empty while there are none."""
    noises: Mapping[Metric, SeedNoise]
    """The variances between seeds, from all rows together; empty if none has two seeds."""
    finished: tuple[RowRun, ...]
    """The finished runs in the paper's order and by seed."""
    unfinished: tuple[RowRun, ...]
    """The others; the table shows their states."""
    own_remarks: tuple[str, ...]
    study: Study | None
    """The pre-registered study that planned these runs; its claims are judged by its plan."""
    definition: str
    """Definition of our BLEU, by its name in a matrix; empty: sacreBLEU's."""
    scope: str
    """The claims that these runs test, for the head of the report; may be empty."""
    versions: tuple[CodeVersion, ...]
    """The versions of code that made the finished runs."""

    @property
    def runs(self) -> tuple[Path, ...]:
        """The directories of the finished runs."""
        return tuple(run.path for run in self.finished)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """The plan of the study and the deviations from it, then the remarks on the runs."""
        return (*(self.study.remarks if self.study else ()), *self.own_remarks)

    @property
    def bleu_name(self) -> str:
        """The name of our BLEU; see `aiayn.runs.record.SplitScores.bleu_name`."""
        return next((name for name in self.conditions if name.startswith("BLEU")), "BLEU")


def read_table3(config: TableChoice) -> Report:
    """The table of the runs that a command chooses.

    Raises:
        UserError: runs do not compare, or a file cannot be read.
    """
    runs = Path(config.paths.runs)
    entries, study = chosen_entries(runs, config.study)
    only = config.only
    comparable = comparable_runs(entries, runs, scale=only.scale, data=only.data, like=only.like)
    return report_of(comparable, runs, study)


def chosen_entries(runs: Path, study: str | None) -> tuple[list[Entry], Study | None]:
    """The runs of a folder, or those of the table's rows that a pre-registered study plans, and the study.

    Raises:
        UserError: there is no such folder or study.
    """
    entries = read_results(runs, with_pilots=study is not None)
    if study is None:
        return entries, None
    found = read_study(runs, study)
    planned = {runs / each.name: each.name for each in found.planned}
    return [
        entry
        for entry in entries
        if (name := planned.get(entry.directory.path))
        and (entry.record is None or found.is_in_table3(name, entry.record.experiment))
    ], found


def record_look_at(report: Report) -> None:
    """Record a report on the table of an unfinished study."""
    if report.study is not None:
        report.study.record_look()


def report_of(comparable: ComparableRuns, folder: Path, chosen: Study | None = None) -> Report:
    """Compare runs with the paper; claims of a pre-registered study are judged by its plan.

    Args:
        comparable: the runs.
        folder: the folder of runs, which may have frozen plans.
        chosen: the study whose runs these are; None: the one that plans the most of them, if there is one.

    Raises:
        UserError: the scores of a run's sentences cannot be read, or the table lacks runs of the study.
    """
    scored = _scored(comparable)
    definition, rows = _definition(scored.values()), measured_rows(comparable)
    finished = [run for found in scored.values() for run in found]
    study = chosen or study_of_most([run.path for run in finished], folder)
    if study is not None:
        _check_whole(study, finished)
    claims = _judged(rows, scored, study)
    versions = code_versions((run.path, run.record) for run in finished)
    noises = {metric: noise for metric in Metric if scored and (noise := rows.by(metric).noise) is not None}
    conditions = {}
    if finished:
        run = finished[0]
        conditions = {**run.conditions, "fidelity": run.record.fidelity, **run.dev_conditions}
    return Report(
        lines=tuple(line_of(row, comparable, rows) for row in load_table3().rows),
        claims=claims,
        agreement=_agreement(rows) if len(scored) >= FEWEST_RANKS else None,
        conditions=conditions,
        noises=noises,
        finished=tuple(finished),
        unfinished=tuple(run for run in comparable.runs if run.dev is None),
        own_remarks=(
            *budget_remarks({row: runs[0] for row, runs in scored.items()}, BASE),
            *(() if chosen else pilots_left_out(folder)),
            *_remarks(comparable, finished),
            *version_remarks(versions),
        ),
        study=study,
        definition=definition,
        scope=scope_sentence(finished, claims),
        versions=versions,
    )


def _judged(rows: MeasuredRows, scored: Mapping[str, Sequence[RowRun]], study: Study | None) -> tuple[JudgedClaim, ...]:
    """The paper's claims: those of the study by its plan, the others with a variance of all rows together.

    Beside a study whose plan other code judges there are none: this code's rules were not those it was planned by.
    """
    if study is not None and study.has_other_rules:
        return ()
    planned = {} if study is None else {judged.claim.id: judged for judged in study.claims}
    unplanned = [claim for claim in load_claims() if claim.id not in planned]
    projected = at(rows, scored, projection_weights)
    judged = judge_claims(unplanned, rows, Rules(BASE, pooled=True), projected=projected)
    planned |= {each.claim.id: each for each in judged}
    return tuple(planned[claim.id] for claim in load_claims())


def _check_whole(study: Study, finished: Sequence[RowRun]) -> None:
    """Refuse a table without runs on which verdicts of its study rest."""
    there = {run.path for run in finished}
    own = [run for each in study.planned if (run := each.run) and study.is_in_table3(each.name, run.record.experiment)]
    if lacking := sum(run.path not in there for run in own):
        raise UserError(
            f"{lacking} of {len(own)} finished runs of study {study.name} are not among the chosen runs; state "
            f"study={study.name} alone"
        )


def measured_rows(comparable: ComparableRuns) -> MeasuredRows:
    """The measurements of the rows with finished runs; UserError if the scores of a run's sentences cannot be read."""
    scored = _scored(comparable)
    rows, definition = MeasuredRows.of(scored), _definition(scored.values())
    if not definition or rows.measured is None:
        return rows
    # It applies to the values of BLEU; differences are sacreBLEU's.
    scores = [[run.dev.by_definition[definition].score for run in found if run.dev] for found in scored.values()]
    means = np.array([np.mean(each) for each in scores])
    deviations = np.array([np.std(each, ddof=1) if len(each) > 1 else np.nan for each in scores])
    bleu = replace(rows.by(Metric.bleu), values=means, deviations=deviations)
    return replace(rows, measured=replace(rows.measured, bleu=bleu))


def _scored(comparable: ComparableRuns) -> dict[str, list[RowRun]]:
    """The runs with scores, by row."""
    return {row.id: found for row in load_table3().rows if (found := comparable.scored(row))}


def _definition(scored: Collection[Sequence[RowRun]]) -> str:
    """The definition of our BLEU: at the paper's scale the one nearest to the paper's, if all runs have it."""
    runs = [run.dev for found in scored for run in found if run.record.scale == "paper"]
    if not runs or len(runs) < sum(map(len, scored)):
        return ""
    names = NEAREST_TO_THE_PAPER["en_de"]
    return next((name for name in names if all(dev and name in dev.by_definition for dev in runs)), "")


def _agreement(rows: MeasuredRows) -> Agreement:
    """The agreement of the measured rows with the paper's."""
    printed = {metric: [load_table3().row(row).cell(metric).number for row in rows.places] for metric in Metric}
    log_printed = [Metric.ppl.difference(value, 1.0) for value in printed[Metric.ppl]]
    return Agreement(
        concordance(log_printed, rows.by(Metric.ppl).compared, separation=SEPARATION, seed=0),
        {metric: spearman(printed[metric], rows.by(metric).compared) for metric in Metric},
    )


def _remarks(comparable: ComparableRuns, finished: Sequence[RowRun]) -> Iterator[str]:
    yield from comparable.damaged
    if comparable.left_out:
        yield f"runs of these rows left out, of another scale, corpus or configuration: {comparable.left_out}"
    changes = Counter(run.record.difference for run in finished)
    for difference, count in changes.items():
        if difference:
            yield f"Changed from the experiments of their rows, in {count} of {len(finished)} runs: {difference}."
    shorter = [run for run in finished if run.record.max_steps is not None and run.record.steps < run.record.max_steps]
    if shorter:
        each = (f"{run.row.id}, seed {run.record.seed}, after {run.record.steps_done()} steps" for run in shorter)
        yield f"Ended early: {'; '.join(each)}."
    for run in comparable.runs:
        if run.entry.state is State.failed:
            message = " ".join((run.entry.message or "").split())
            yield f"{run.row.id}, seed {run.record.seed}, {run.entry.state}: {message}"
