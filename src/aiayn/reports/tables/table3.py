"""Table 3 with ours beside the paper's: rows, differences to base, claims and rank correlations, from records."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from aiayn.config.report_schema import DashboardConfig, ReportConfig
from aiayn.evaluation.significance import Estimate, bootstrap, rank_correlation, sentence_columns
from aiayn.paper.claims import Metric, load_claims
from aiayn.paper.tables import SETTINGS, in_symbols, load_table3
from aiayn.reports.code_versions import CodeVersion, code_versions, version_remarks
from aiayn.reports.comparability import ComparableRuns, RowRun, comparable_runs
from aiayn.reports.formats import Document, Grid, show
from aiayn.reports.scope import Scope, scope_of
from aiayn.reports.tables.table3_claims import JudgedClaim, MeasuredRows, claim_grids, judge, plain_claim
from aiayn.reports.tables.table3_rows import Line, difference_cells, line_of, plain_line, printed_settings, result_cells
from aiayn.runs.ledger import State, read_results

FEWEST_RANKS = 3
"""Rows below which a rank correlation is meaningless."""


@dataclass(frozen=True)
class Report:
    """The table, whatever the format."""

    lines: tuple[Line, ...]
    claims: tuple[JudgedClaim, ...]
    correlations: Mapping[Metric, Estimate]
    """Between the paper's column and ours, over the rows with finished runs; empty for fewer than `FEWEST_RANKS`."""
    conditions: Mapping[str, str]
    """Shared by all runs: scale, data, split and size, BLEU signature; empty while there are none."""
    seed_deviations: Mapping[Metric, float]
    """The standard deviation over seeds, pooled over all rows; empty if none has two."""
    resamples: int
    runs: tuple[Path, ...]
    """The finished runs."""
    remarks: tuple[str, ...]
    scope: Scope
    """The claims that these runs can test."""
    versions: tuple[CodeVersion, ...]
    """Of the code that made the finished runs."""

    @property
    def bleu_name(self) -> str:
        """The name of our BLEU; see `aiayn.runs.record.SplitScores.bleu_name`."""
        return next((name for name in self.conditions if name.startswith("BLEU")), "BLEU")


def report_table3(config: ReportConfig, output: Path | None) -> None:
    """Print the table, or write it to a .md, .tex, .csv or .json file."""
    show(document(read_table3(config)), output)


def read_table3(config: ReportConfig | DashboardConfig) -> Report:
    """The table of the runs that a command chooses.

    Raises:
        UserError: runs do not compare, or a file cannot be read.
    """
    only, runs = config.only, Path(config.paths.runs)
    comparable = comparable_runs(read_results(runs), runs, scale=only.scale, data=only.data, like=only.like)
    return report_of(comparable, resamples=config.resamples, seed=config.seed)


def report_of(comparable: ComparableRuns, *, resamples: int, seed: int) -> Report:
    """Compare runs with the paper.

    Raises:
        UserError: the scores of a run's sentences cannot be read.
    """
    scored = {row.id: found for row in load_table3().rows if (found := comparable.scored(row))}
    systems = [[sentence_columns(run.sentences("dev")) for run in found] for found in scored.values()]
    measured = bootstrap(systems, resamples=resamples, seed=seed) if systems else None
    rows = MeasuredRows(measured, {row_id: place for place, row_id in enumerate(scored)})
    finished = [run for found in scored.values() for run in found]
    versions = code_versions((run.path, run.record) for run in finished)
    deviations = {metric: rows.of(metric).seed_deviation for metric in Metric} if scored else {}
    conditions, correlations = {}, {}
    if finished:
        run = finished[0]
        conditions = {**run.conditions, "fidelity": run.record.fidelity, **run.dev_conditions}
    if len(scored) >= FEWEST_RANKS:
        printed = {metric: [load_table3().row(row_id).cell(metric).number for row_id in scored] for metric in Metric}
        correlations = {metric: rank_correlation(printed[metric], rows.of(metric)) for metric in Metric}
    return Report(
        lines=tuple(line_of(row, comparable, rows) for row in load_table3().rows),
        claims=tuple(judge(claim, rows) for claim in load_claims()),
        correlations=correlations,
        conditions=conditions,
        seed_deviations={metric: value for metric, value in deviations.items() if value is not None},
        resamples=resamples,
        runs=tuple(run.path for run in finished),
        remarks=(*_remarks(comparable, finished), *version_remarks(versions)),
        scope=scope_of(finished),
        versions=versions,
    )


def _remarks(comparable: ComparableRuns, finished: Sequence[RowRun]) -> Iterator[str]:
    if comparable.left_out:
        yield f"runs of these rows left out, of another scale, corpus or configuration: {comparable.left_out}"
    changes = Counter(run.record.difference for run in finished)
    for difference, count in changes.items():
        if difference:
            yield f"Changed from the experiments of their rows, in {count} of {len(finished)} runs: {difference}."
    for run in finished:
        if run.record.max_steps is not None and run.record.steps < run.record.max_steps:
            yield f"{run.row.id}, seed {run.record.seed}, ended after {run.record.steps_done()} steps."
    for run in comparable.runs:
        if run.entry.state is State.failed:
            message = " ".join((run.entry.message or "").split())
            yield f"{run.row.id}, seed {run.record.seed}, {run.entry.state}: {message}"


def document(report: Report) -> Document:
    """The report as plain data."""
    claims = claim_grids(report.claims, report.scope)
    sizes = [_sizes(report)] if _has_other_sizes(report) else []
    rows = [plain_line(line) for line in report.lines]
    return Document(
        title="Table 3, reproduced",
        written="Written by `aiayn report table3` from the records of the runs.",
        grids=grids(report),
        terminal_grids=[_results(report, has_settings=False), *sizes, differences_grid(report), *claims],
        remarks=[*summary(report), *report.remarks],
        lead=report.scope.sentence,
        remarks_title="What the numbers are",
        runs=report.runs,
        content={
            "scope": report.scope.sentence or None,
            "conditions": dict(report.conditions),
            "resamples": report.resamples,
            "seed_deviations": dict(report.seed_deviations),
            "rows": [
                plain | {"settings_paper": line.row.settings(load_table3()), "settings": dict(line.trained)}
                for plain, line in zip(rows, report.lines, strict=True)
            ],
            "claims": [plain_claim(claim, report.scope) for claim in report.claims],
            "rank_correlations": {metric: dataclasses.asdict(each) for metric, each in report.correlations.items()},
            "runs": [str(path) for path in report.runs],
            "code": [version.plain() for version in report.versions],
            "remarks": list(report.remarks),
        },
        rows=[{**plain, "seeds": len(plain["seeds"]), **report.conditions} for plain in rows],
    )


def grids(report: Report) -> list[Grid]:
    """The tables of a page, in the paper's layout: results with settings, differences, claims, comparisons."""
    claims = claim_grids(report.claims, report.scope)
    return [_results(report, has_settings=True), differences_grid(report), *claims]


def _groups(report: Report) -> Iterator[list[Line]]:
    return (list(lines) for _, lines in groupby(report.lines, key=lambda line: line.row.group))


def _our_bleu(report: Report) -> str:
    return "ours" if report.bleu_name == "BLEU" else f"ours ({report.bleu_name})"


def _results(report: Report, *, has_settings: bool) -> Grid:
    settings = ("<", "<row", *SETTINGS.values()) if has_settings else ("<row",)
    has_brackets = has_settings and _has_other_sizes(report)
    brackets = "; settings in brackets are those trained here" if has_brackets else ""
    return Grid(
        f"Table 3, the paper's numbers and ours{brackets}",
        (*settings, "PPL paper", "ours", "BLEU paper", _our_bleu(report), "params", "ours", "seeds", "<state"),
        tuple(tuple(result_cells(line, has_settings=has_settings) for line in group) for group in _groups(report)),
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
    return Grid(
        "Differences to base, with 95% intervals of ours",
        ("<row", "PPL paper", "<ours", "BLEU paper", f"<{_our_bleu(report)}"),
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
    yield (
        "Compare differences, not values: unless the lines above say otherwise, our data and sizes are not the "
        "paper's, perplexity is per sub-word of our own vocabulary, and BLEU is sacreBLEU's."
    )
    intervals = f"95% intervals: {report.resamples:,} paired resamples of the sentences"
    if report.seed_deviations:
        deviations = " and ".join(f"{value:.3f} {metric.upper()}" for metric, value in report.seed_deviations.items())
        yield f"{intervals}, widened by the standard deviation between seeds ({deviations}, from all rows together)"
    else:
        yield f"{intervals} alone: no row has two seeds, so the variation between seeds is not included"
    for metric, correlation in report.correlations.items():
        rows = sum(bool(line.measured) for line in report.lines)
        yield (
            f"Spearman's rank correlation between the paper's {metric.upper()} and ours over {rows} rows: "
            f"{correlation.estimate:.2f} [{correlation.low:.2f}, {correlation.high:.2f}]"
        )
