"""The report of Table 3 as tables of text, in the paper's layout and order."""

from collections.abc import Iterator, Mapping
from itertools import groupby

from aiayn.evaluation.significance import Interval
from aiayn.paper.claims import Comparison, Metric, Sameness
from aiayn.paper.table3 import SETTINGS, Row, Setting, in_symbols, load_table3, value_text
from aiayn.reports.grids import Grid
from aiayn.reports.tables.table3 import Line, Measurement, Report, paper_cell, paper_value
from aiayn.reports.verdicts import Judged, JudgedClaim, Verdict


def grids(report: Report, *, bleu_name: str, has_settings: bool) -> list[Grid]:
    """The tables of the report.

    Args:
        report: what they show.
        bleu_name: heading of our BLEU.
        has_settings: columns of groups and settings, as in the paper; otherwise ours have a table of their own, where
            they are not the paper's.
    """
    sizes = [] if has_settings or not _has_other_sizes(report) else [_sizes(report)]
    return [
        _results(report, bleu_name=bleu_name, has_settings=has_settings),
        *sizes,
        differences_grid(report, bleu_name=bleu_name),
        _claims(report),
        _comparisons(report),
    ]


IN_BRACKETS = "; settings in brackets are those trained here"
"""Added to the title where they are not the paper's."""

NO_EVIDENCE = "*"
"""Marks verdicts on which these runs are no evidence."""


def _ours(bleu_name: str) -> str:
    """The heading of our BLEU, which tells where it is not the paper's kind of score."""
    return "ours" if bleu_name == "BLEU" else f"ours ({bleu_name})"


def _groups(report: Report) -> Iterator[list[Line]]:
    return (list(lines) for _, lines in groupby(report.lines, key=lambda line: line.row.group))


def _results(report: Report, *, bleu_name: str, has_settings: bool) -> Grid:
    settings = ("<", "<row", *SETTINGS.values()) if has_settings else ("<row",)
    brackets = IN_BRACKETS if has_settings and _has_other_sizes(report) else ""
    return Grid(
        title=f"Table 3, the paper's numbers and ours{brackets}",
        headings=(
            *settings,
            *("PPL paper", "ours", "BLEU paper", _ours(bleu_name)),
            *("params", "ours", "seeds", "<state"),
        ),
        groups=tuple(tuple(_result(line, has_settings=has_settings) for line in group) for group in _groups(report)),
    )


def _result(line: Line, *, has_settings: bool) -> tuple[str, ...]:
    row = line.row
    group = f"({row.group})" if len(row.group) == 1 else ""
    settings = (group, row.id, *(_setting(line, key) for key in SETTINGS)) if has_settings else (row.id,)
    scores = [text for metric in Metric for text in (str(paper_cell(row, metric)), _measured(line, metric))]
    parameters = "" if line.parameters is None else f"{line.parameters / 1e6:.1f}M"
    printed = f"{row.parameters}M" if row.parameters.printed else ""
    return (*settings, *scores, printed, parameters, str(len(line.seeds) or ""), line.state)


def _setting(line: Line, key: str) -> str:
    """As printed, and in brackets ours where it is another."""
    printed, ours = printed_settings(line.row).get(key), line.changes_trained.get(key)
    if printed is None:
        return ""
    text = value_text(key, printed)
    return text if ours in (None, printed) else f"{text} ({value_text(key, ours)})"


def printed_settings(row: Row) -> Mapping[str, Setting]:
    """Those that the paper prints: base states all, the others in which they differ from it."""
    return load_table3().base if row.group == "base" else row.changes


def settings_text(line: Line) -> str:
    """The settings that a row was trained with, and in brackets the paper's where it prints others."""
    printed, trained = in_symbols(printed_settings(line.row)), in_symbols(line.changes_trained)
    return printed if trained in ("", printed) else f"{trained} (paper: {printed})"


def settings_beside(line: Line) -> str:
    """The paper's settings of a row, each with ours in brackets where it is another, as in "d_k=16 (4)"."""
    return in_symbols({key: _setting(line, key) for key in printed_settings(line.row)})


def _has_other_sizes(report: Report) -> bool:
    """Whether a row was trained with other settings than those that the paper prints for it."""
    return any(line.changes_trained not in ({}, printed_settings(line.row)) for line in report.lines)


def _sizes(report: Report) -> Grid:
    return Grid(
        title="What each row states: the paper's settings, and those trained here",
        headings=("<row", "<paper", "<trained here"),
        groups=tuple(
            tuple(
                (line.row.id, in_symbols(printed_settings(line.row)), in_symbols(line.changes_trained))
                for line in group
            )
            for group in _groups(report)
        ),
    )


def _measured(line: Line, metric: Metric) -> str:
    measurement = line.measured.get(metric)
    return "" if measurement is None else mean_and_deviation(measurement, paper_cell(line.row, metric).decimals)


def mean_and_deviation(measurement: Measurement, decimals: int) -> str:
    """As in 4.92 ± 0.03; the mean alone where there is one seed."""
    mean = f"{measurement.value:.{decimals}f}"
    return mean if measurement.deviation is None else f"{mean} ± {measurement.deviation:.{decimals}f}"


def differences_grid(report: Report, *, bleu_name: str) -> Grid:
    """Each row less base."""
    return Grid(
        title="Differences to base, with 95% intervals of ours",
        headings=("<row", "PPL paper", "<ours", "BLEU paper", f"<{_ours(bleu_name)}"),
        groups=tuple(
            tuple((line.row.id, *_difference_cells(line)) for line in group)
            for group in _groups(report)
            if group[0].row.group != "base"
        ),
    )


def _difference_cells(line: Line) -> Iterator[str]:
    for metric in Metric:
        decimals = paper_cell(line.row, metric).decimals
        yield signed(paper_value(line.row, metric) - paper_value(load_table3().row("base"), metric), decimals)
        measurement = line.measured.get(metric)
        yield "" if measurement is None else interval_text(measurement.difference, decimals + 1)


def signed(value: float, decimals: int) -> str:
    """With its sign, as in +0.37; a difference that rounds to nothing has none."""
    text = f"{value:+.{decimals}f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "−")


def interval_text(interval: Interval | None, decimals: int) -> str:
    """As in +0.37 [+0.21, +0.52]; empty for none."""
    if interval is None:
        return ""
    low, high = signed(interval.low, decimals), signed(interval.high, decimals)
    return f"{signed(interval.estimate, decimals)} [{low}, {high}]"


def _claims(report: Report) -> Grid:
    marks = f" ({NO_EVIDENCE} not evidence: see the first lines)" if report.scope.not_evidence else ""
    return Grid(
        title=f"What the paper concludes, and what these runs say{marks}",
        headings=("<id", "<section", "<claim", "<verdict", "seeds to decide"),
        groups=tuple(
            tuple(
                (
                    *(each.claim.id, each.claim.section, each.claim.statement),
                    verdict_text(report, each.claim.id, each.verdict),
                    str(each.seeds_needed or ""),
                )
                for each in claims
            )
            for claims in _by_group(report)
        ),
    )


def verdict_text(report: Report, claim: str, verdict: Verdict) -> str:
    """A verdict on a claim or a part of it, marked where these runs are no evidence."""
    return f"{verdict} {NO_EVIDENCE}" if claim in report.scope.not_evidence else verdict.value


def _by_group(report: Report) -> Iterator[list[JudgedClaim]]:
    return (list(claims) for _, claims in groupby(report.claims, key=lambda judged: judged.claim.group))


def _comparisons(report: Report) -> Grid:
    return Grid(
        title="The comparisons behind the verdicts",
        headings=("<claim", "<claimed", "paper", "<ours, first minus second", "<verdict"),
        groups=tuple(
            tuple(_comparison(report, claim.claim.id, judged) for judged in claim.comparisons)
            for claim in report.claims
        ),
    )


def _comparison(report: Report, claim: str, judged: Judged) -> tuple[str, ...]:
    comparison = judged.comparison
    decimals = paper_cell(load_table3().row(comparison.rows[0]), comparison.metric).decimals
    interval = interval_text(judged.interval, decimals + 1)
    verdict = verdict_text(report, claim, judged.verdict)
    return claim, claimed(comparison), printed_difference(comparison), interval, verdict


def claimed(comparison: Comparison) -> str:
    """What is claimed, in symbols, as in PPL of base < a_h32."""
    first, second = comparison.rows
    metric = comparison.metric
    if isinstance(comparison, Sameness):
        return f"{first}, {second} within {comparison.within} {metric.upper()}"
    return f"{metric.upper()} of {first} {'>' if metric.sign > 0 else '<'} {second}"


def printed_difference(comparison: Comparison) -> str:
    """The first row minus the second as the paper prints them."""
    metric = comparison.metric
    first, second = (load_table3().row(row) for row in comparison.rows)
    return signed(paper_value(first, metric) - paper_value(second, metric), paper_cell(first, metric).decimals)
