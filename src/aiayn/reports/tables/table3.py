"""Table 3 with ours beside the paper's: rows, differences to base, claims and rank correlations, from records."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path

import numpy as np

from aiayn.config.report_schema import DashboardConfig, ReportConfig
from aiayn.errors import UserError
from aiayn.evaluation.agreement import Concordance, concordance, spearman
from aiayn.evaluation.matrix import NEAREST_TO_THE_PAPER, TITLES
from aiayn.evaluation.significance import SeedNoise
from aiayn.paper.claims import Metric, load_claims
from aiayn.paper.tables import SETTINGS, in_symbols, load_table3
from aiayn.reports.claim_grids import claim_grids, effect_remarks, interval_remarks, untested_remarks
from aiayn.reports.code_versions import CodeVersion, code_versions, version_remarks
from aiayn.reports.comparability import ComparableRuns, RowRun, comparable_runs
from aiayn.reports.deviations import named_runs, plan_remarks
from aiayn.reports.formats import Document
from aiayn.reports.gates import curves_of
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import JudgedClaim, MeasuredRows, judge_claims
from aiayn.reports.publication import show_or_pack
from aiayn.reports.registered import RegisteredStudy, read_registered, registration_of
from aiayn.reports.run_facts import origin_remarks, seed_grid
from aiayn.reports.scope import scope_sentence
from aiayn.reports.tables.table3_rows import (
    Line,
    decimals_of,
    difference_cells,
    line_of,
    plain_line,
    printed_settings,
    result_cells,
)
from aiayn.runs.ledger import Entry, State, pilots_left_out, read_results
from aiayn.runs.registrations import record_look

BASE = "base"
"""The row that others are compared with."""

FEWEST_RANKS = 3
"""The fewest rows whose order is compared."""

SHOWN_OF_CLAIMS = 2
"""Grids of claims on the terminal: verdicts and primary comparisons; secondary ones are in files."""

SEPARATION = 0.02
"""The concordance counts pairs of rows that the paper separates by more than this in log PPL."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of our rows with the paper's order."""

    pairs: Concordance
    """The concordance of log PPL."""
    spearman: Mapping[Metric, float]
    """Rank correlations."""


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
    study: RegisteredStudy | None
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
        return (*(plan_remarks(self.study) if self.study else ()), *self.own_remarks)

    @property
    def bleu_name(self) -> str:
        """The name of our BLEU; see `aiayn.runs.record.SplitScores.bleu_name`."""
        return next((name for name in self.conditions if name.startswith("BLEU")), "BLEU")


def report_table3(config: ReportConfig, output: Path | None) -> Report:
    """Print the table, write it to a .md, .tex, .csv or .json file, or publish it with the data of its runs."""
    report = read_table3(config)
    if config.published is None:
        record_look_at(report)
    planned = [*report.study.finished, *named_runs(report.study)] if report.study else []
    show_or_pack(document(report), [*report.finished, *report.unfinished, *planned], "dev", config, output)
    return report


def read_table3(config: ReportConfig | DashboardConfig) -> Report:
    """The table of the runs that a command chooses.

    Raises:
        UserError: runs do not compare, or a file cannot be read.
    """
    runs = Path(config.paths.runs)
    entries, study = chosen_entries(runs, config.study)
    only = config.only
    comparable = comparable_runs(entries, runs, scale=only.scale, data=only.data, like=only.like)
    return report_of(comparable, runs, study)


def chosen_entries(runs: Path, study: str | None) -> tuple[list[Entry], RegisteredStudy | None]:
    """The runs of a folder, or those of the table's rows that a pre-registered study plans, and the study.

    Raises:
        UserError: there is no such folder or study.
    """
    entries = read_results(runs)
    if study is None:
        return entries, None
    found = read_registered(runs, study)
    planned = {runs / each.name: each.name for each in found.planned}
    return [
        entry
        for entry in entries
        if (name := planned.get(entry.directory.path))
        and (entry.record is None or found.is_in_table3(name, entry.record.experiment))
    ], found


def record_look_at(report: Report) -> None:
    """Record a report on the table of an unfinished study."""
    study = report.study
    if study is not None and not study.is_complete:
        record_look(study.folder, study.name, len(study.finished))


def report_of(comparable: ComparableRuns, folder: Path, chosen: RegisteredStudy | None = None) -> Report:
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
    study = chosen or registration_of([run.path for run in finished], folder)
    planned = {}
    if study is not None:
        _check_whole(study, finished)
        planned = {judged.claim.id: judged for judged in study.claims}
    unplanned = [claim for claim in load_claims() if claim.id not in planned]
    planned |= {
        judged.claim.id: judged for judged in judge_claims(unplanned, rows, curves_of(scored), base=BASE, noises=None)
    }
    claims = tuple(planned[claim.id] for claim in load_claims())
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
            *effect_remarks(claims, rows, BASE),
            *(() if chosen else pilots_left_out(folder)),
            *_remarks(comparable, finished),
            *version_remarks(versions),
        ),
        study=study,
        definition=definition,
        scope=scope_sentence(finished, claims),
        versions=versions,
    )


def _check_whole(study: RegisteredStudy, finished: Sequence[RowRun]) -> None:
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


def document(report: Report) -> Document:
    """The report as plain data."""
    claims = _claims(report)[:SHOWN_OF_CLAIMS]
    sizes = [_sizes(report)] if _has_other_sizes(report) else []
    rows = [plain_line(line) for line in report.lines]
    return Document(
        title="Table 3, reproduced",
        written="Written by `aiayn report table3` from the records of the runs.",
        grids=[*grids(report), *([seed_grid(report.finished, "dev")] if report.finished else [])],
        terminal_grids=[_results(report, has_settings=False), *sizes, differences_grid(report), *claims],
        remarks=[*summary(report), *origin_remarks([run.record for run in report.finished]), *report.remarks],
        lead=report.scope,
        remarks_title="Conditions and remarks",
        runs=report.runs,
        schema="table3/1",
        content={
            "scope": report.scope or None,
            "bleu_definition": report.definition or "bleu",
            "conditions": dict(report.conditions),
            "seed_noise": {metric.value: dataclasses.asdict(noise) for metric, noise in report.noises.items()},
            "rows": [
                plain | {"settings_paper": line.row.settings(load_table3()), "settings": dict(line.trained)}
                for plain, line in zip(rows, report.lines, strict=True)
            ],
            "claims": [judged.plain() for judged in report.claims],
            "agreement": report.agreement and dataclasses.asdict(report.agreement),
            "runs": [str(path) for path in report.runs],
            "code": [version.plain() for version in report.versions],
            "remarks": list(report.remarks),
        },
        rows=[{**plain, "seeds": len(plain["seeds"]), **report.conditions} for plain in rows],
    )


def grids(report: Report) -> list[Grid]:
    """The tables of a page, in the paper's layout: results with settings, differences, claims, comparisons."""
    return [_results(report, has_settings=True), differences_grid(report), *_claims(report)]


def _claims(report: Report) -> list[Grid]:
    return claim_grids(report.claims, claimant="the paper", assumed="paper")


def _groups(report: Report) -> Iterator[list[Line]]:
    return (list(lines) for _, lines in groupby(report.lines, key=lambda line: line.row.group))


def _our_bleu(report: Report) -> str:
    name = report.definition or report.bleu_name
    return "ours" if name == "BLEU" else f"ours ({name})"


def _results(report: Report, *, has_settings: bool) -> Grid:
    settings = ("<", "<row", *SETTINGS.values()) if has_settings else ("<row",)
    decimals = decimals_of(report.lines)
    has_brackets = has_settings and _has_other_sizes(report)
    brackets = "; settings in brackets are those trained here" if has_brackets else ""
    return Grid(
        f"Table 3, the paper's numbers and ours{brackets}",
        (*settings, "PPL paper", "ours", "BLEU paper", _our_bleu(report), "params", "ours", "seeds", "<state"),
        tuple(
            tuple(result_cells(line, decimals, has_settings=has_settings) for line in group)
            for group in _groups(report)
        ),
    )


def _has_other_sizes(report: Report) -> bool:
    return any(line.changes_trained not in ({}, printed_settings(line.row)) for line in report.lines)


def _sizes(report: Report) -> Grid:
    groups = tuple(
        tuple((line.row.id, in_symbols(printed_settings(line.row)), in_symbols(line.changes_trained)) for line in group)
        for group in _groups(report)
    )
    title = "What each row states: the paper's settings, and those trained here"
    return Grid(title, ("<row", "<paper", "<trained here"), groups)


def differences_grid(report: Report) -> Grid:
    """Each row minus base."""
    ours = "<ours" if report.bleu_name == "BLEU" else f"<ours ({report.bleu_name})"
    return Grid(
        "Differences to base, with 95% intervals of ours",
        ("<row", "log PPL paper", "<ours", "BLEU paper", ours),
        tuple(
            tuple((line.row.id, *difference_cells(line)) for line in group)
            for group in _groups(report)
            if group[0].row.group != "base"
        ),
    )


def summary(report: Report) -> Iterator[str]:
    """Remarks on the whole table."""
    caption = load_table3().caption
    yield f"paper: {caption.dev_set}, {caption.language_pair}, {caption.source}"
    if not report.conditions:
        yield "ours: no run has finished yet"
        return
    yield "ours: " + ", ".join(f"{key} {value}" for key, value in report.conditions.items() if "BLEU" not in key)
    yield f"{report.bleu_name}: {report.conditions[report.bleu_name]}"
    if report.definition:
        yield f"{report.definition}: {TITLES[report.definition]}, the definition nearest to the paper's"
    yield (
        "Compare differences, not values: unless the lines above say otherwise, our data and sizes are not the "
        "paper's, perplexity is per sub-word of our own vocabulary (theirs: 32,000 merges of Moses' tokens), and BLEU "
        "is sacreBLEU's."
    )
    yield from interval_remarks(report.noises, {line.row.id: len(line.seeds) for line in report.lines if line.seeds})
    yield (
        "claims are tested on log PPL, at 2.5% one-sided; contradictions are corrected over the table (Holm); BLEU is "
        "secondary, except for label smoothing"
    )
    yield from untested_remarks(report.claims)
    if report.agreement:
        yield from _agreement_in_words(report.agreement, sum(bool(line.measured) for line in report.lines))


def _agreement_in_words(agreement: Agreement, rows: int) -> Iterator[str]:
    pairs = agreement.pairs
    yield (
        f"order: of {pairs.pairs} pairs that the paper separates by more than {SEPARATION} log PPL, {pairs.concordant} "
        f"({pairs.share:.0%}) have the same order here; as many by chance: p = {pairs.p_value:.4f} (permutations)"
    )
    correlations = " and ".join(f"{value:.2f} for {metric.upper()}" for metric, value in agreement.spearman.items())
    yield f"Spearman's rank correlation with the paper over {rows} rows: {correlations}"
