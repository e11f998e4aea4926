"""Table 3 with ours beside the paper's, in every format."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from aiayn.config.report_schema import ReportConfig
from aiayn.evaluation.matrix import TITLES
from aiayn.evaluation.significance import SeedNoise
from aiayn.paper.claims import Metric
from aiayn.paper.tables import SETTINGS, in_symbols, load_table3
from aiayn.reports.claim_grids import RULE_REMARKS, claim_grids, pooled_remarks, untested_remarks
from aiayn.reports.code_versions import CodeContent
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, Evidence, show
from aiayn.reports.grid import Column, Grid
from aiayn.reports.judgement import ClaimContent
from aiayn.reports.numbers import millions
from aiayn.reports.run_facts import origin_remarks, seed_grid
from aiayn.reports.tables.table3_results import BASE, SEPARATION, Agreement, Report, read_table3, record_look_at
from aiayn.reports.tables.table3_rows import (
    Line,
    RowContent,
    decimals_of,
    difference_text,
    printed_difference_text,
    printed_settings,
    row_content,
    score_text,
    setting_text,
)

ROW: Column[Line] = Column("<row", lambda line: line.row.id)
SHOWN_OF_CLAIMS = 2
"""Grids of claims on the terminal: verdicts and primary comparisons; secondary ones are in files."""


@dataclass(frozen=True)
class Table3Content(Content):
    """Table 3: aiayn report table3."""

    schema: ClassVar = "table3/2"

    scope: str | None
    """The claims that these runs test."""
    bleu_definition: str
    """The definition of our BLEU, by its name in a matrix."""
    conditions: Mapping[str, str]
    """The conditions that all runs share."""
    seed_noise: Mapping[Metric, SeedNoise]
    """The variances between seeds, by metric."""
    rows: tuple[RowContent, ...]
    """The rows of the table."""
    claims: tuple[ClaimContent, ...]
    """The paper's claims, judged."""
    agreement: Agreement | None
    """The agreement with the paper's order; None for few rows."""
    runs: tuple[Path, ...]
    """The directories of the finished runs."""
    code: tuple[CodeContent, ...]
    """The versions of the code that made the finished runs."""
    remarks: tuple[str, ...]
    """Remarks on the table."""


def report_table3(config: ReportConfig, output: Path | None) -> Report:
    """Print the table, write it to a .md, .tex, .csv or .json file, or publish it with the data of its runs."""
    report = read_table3(config)
    if config.published is None:
        record_look_at(report)
    planned = report.study.shown if report.study else []
    evidence = Evidence([*report.finished, *report.unfinished, *planned], "dev")
    show(dataclasses.replace(document(report), evidence=evidence), output)
    return report


def document(report: Report) -> Document:
    """The report as plain data."""
    claims = _claims(report)[:SHOWN_OF_CLAIMS]
    sizes = [_sizes(report)] if _has_other_sizes(report) else []
    rows = tuple(map(row_content, report.lines))
    return Document(
        title="Table 3, reproduced",
        written="Written by `aiayn report table3` from the records of the runs.",
        grids=[*grids(report), *([seed_grid(report.finished, "dev")] if report.finished else [])],
        terminal_grids=[_results(report, has_settings=False), *sizes, differences_grid(report), *claims],
        remarks=[*summary(report), *origin_remarks([run.record for run in report.finished]), *report.remarks],
        lead=report.scope,
        remarks_title="Conditions and remarks",
        runs=report.runs,
        content=Table3Content(
            scope=report.scope or None,
            bleu_definition=report.definition or "bleu",
            conditions=report.conditions,
            seed_noise=report.noises,
            rows=rows,
            claims=tuple(judged.content for judged in report.claims),
            agreement=report.agreement,
            runs=report.runs,
            code=tuple(version.content for version in report.versions),
            remarks=report.remarks,
        ),
        rows=[{**_csv_line(row), **report.conditions} for row in rows],
    )


def _csv_line(row: RowContent) -> dict[str, str | float | None]:
    cells = {key: cell for key, cell in vars(row).items() if not key.startswith("settings")}
    return {**cells, "seeds": len(row.seeds)}


def grids(report: Report) -> list[Grid]:
    """The tables of a page, in the paper's layout: results with settings, differences, claims, comparisons."""
    return [_results(report, has_settings=True), differences_grid(report), *_claims(report)]


def _claims(report: Report) -> list[Grid]:
    return claim_grids(report.claims, claimant="the paper", stated="paper")


def _groups(report: Report) -> Iterator[list[Line]]:
    return (list(lines) for _, lines in groupby(report.lines, key=lambda line: line.row.group))


def _our_bleu(report: Report) -> str:
    name = report.definition or report.bleu_name
    return "ours" if name == "BLEU" else f"ours ({name})"


def _results(report: Report, *, has_settings: bool) -> Grid:
    columns, decimals = [ROW], decimals_of(report.lines)
    if has_settings:
        settings = [Column(symbol, partial(setting_text, key=key)) for key, symbol in SETTINGS.items()]
        columns = [Column("<", _group_mark), *columns, *settings]
    for metric, ours in {Metric.ppl: "ours", Metric.bleu: _our_bleu(report)}.items():
        columns += [
            Column(f"{metric.upper()} paper", partial(_printed, metric=metric)),
            Column(ours, partial(score_text, metric=metric, decimals=decimals[metric])),
        ]
    columns += [
        Column("params", lambda line: f"{line.row.parameters}M" if line.row.parameters.printed else ""),
        Column("ours", lambda line: millions(line.parameters)),
        Column("seeds", lambda line: str(len(line.seeds) or "")),
        Column("<state", lambda line: line.state),
    ]
    has_brackets = has_settings and _has_other_sizes(report)
    brackets = "; settings in brackets are those trained here" if has_brackets else ""
    return Grid.of(f"Table 3, the paper's numbers and ours{brackets}", columns, *_groups(report))


def _group_mark(line: Line) -> str:
    group = line.row.group
    return f"({group})" if len(group) == 1 else ""


def _printed(line: Line, metric: Metric) -> str:
    return str(line.row.cell(metric))


def _has_other_sizes(report: Report) -> bool:
    return any(line.changes_trained not in ({}, printed_settings(line.row)) for line in report.lines)


def _sizes(report: Report) -> Grid:
    columns: Sequence[Column[Line]] = (
        ROW,
        Column("<paper", lambda line: in_symbols(printed_settings(line.row))),
        Column("<trained here", lambda line: in_symbols(line.changes_trained)),
    )
    return Grid.of("Settings of each row: the paper's, and those trained here", columns, *_groups(report))


def differences_grid(report: Report) -> Grid:
    """Each row minus base."""
    ours = "<ours" if report.bleu_name == "BLEU" else f"<ours ({report.bleu_name})"
    columns = (
        ROW,
        Column("log PPL paper", partial(printed_difference_text, metric=Metric.ppl)),
        Column("<ours", partial(difference_text, metric=Metric.ppl)),
        Column("BLEU paper", partial(printed_difference_text, metric=Metric.bleu)),
        Column(ours, partial(difference_text, metric=Metric.bleu)),
    )
    groups = [group for group in _groups(report) if group[0].row.group != BASE]
    return Grid.of("Differences to base, with 95% intervals of ours", columns, *groups)


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
    yield from pooled_remarks(report.noises, {line.row.id: len(line.seeds) for line in report.lines if line.seeds})
    if report.claims:
        yield from RULE_REMARKS
        yield from untested_remarks(report.claims)
    elif report.study is not None:
        yield report.study.rules_remark
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
