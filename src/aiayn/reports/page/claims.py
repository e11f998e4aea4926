"""The paper's claims with their verdicts, and the comparisons behind each."""

import math
from collections import Counter
from collections.abc import Sequence

from aiayn.paper.claims import Metric, Ordering
from aiayn.paper.tables import load_table3
from aiayn.reports.numbers import interval_text
from aiayn.reports.page.markup import Html, heading, table, tag, with_symbols
from aiayn.reports.tables.table3 import Report
from aiayn.reports.tables.table3_claims import (
    Judged,
    JudgedClaim,
    claimed,
    printed_difference,
    verdict_text,
)
from aiayn.reports.verdicts import Verdict

MARKS = {
    Verdict.reproduced: "✓",
    Verdict.contradicted: "✕",
    Verdict.undecided: "?",
    Verdict.pending: "·",
    Verdict.incomparable: "–",
}
"""A shape for each verdict, besides its colour."""

NOT_EVIDENCE = "not evidence"
"""The label of verdicts for which these runs are no evidence."""

HEADINGS = (
    "<claimed",
    "paper",
    "<ours; shaded: where the claim puts it",
    "<first minus second, 95% interval",
    "<verdict",
)


def verdict_counts(report: Report) -> Html:
    """The number of claims by verdict, at the top of the page."""
    no_evidence = report.scope.not_evidence
    counts = Counter(NOT_EVIDENCE if claim.claim.id in no_evidence else claim.verdict.value for claim in report.claims)
    numbers = (
        tag(
            "div",
            tag("dt", name),
            tag("dd", str(counts[name])),
            class_=f"count {name.replace(' ', '-')}",
            style=f"flex-grow:{counts[name]}",
        )
        for name in (*Verdict, NOT_EVIDENCE)
        if counts[name]
    )
    return tag("dl", *numbers, class_="counts")


def claim_list(report: Report) -> Html:
    """Each claim with its verdict; it opens to the comparisons behind it."""
    return tag("div", *(_claim(report, claim) for claim in report.claims), class_="claims")


def _claim(report: Report, judged: JudgedClaim) -> Html:
    dots = (_dot(each.verdict, f"{claimed(each.comparison)}: {each.verdict}") for each in judged.comparisons)
    summary = tag(
        "summary",
        tag("span", MARKS[judged.verdict], class_="mark", aria_hidden="true"),
        tag("span", with_symbols(judged.claim.statement), class_="statement"),
        tag("span", *dots, class_="dots", aria_hidden="true"),
        tag("span", verdict_text(report.scope, judged.claim.id, judged.verdict), class_="verdict"),
    )
    note = f"Section {judged.claim.section} of the paper, group {judged.claim.group}."
    if judged.seeds_needed:
        note += f" About {judged.seeds_needed:,} seeds of each row would decide what is open."
    if judged.claim.id in report.scope.not_evidence:
        note += " * These runs are no evidence on it: see the head of the page."
    comparisons = _comparisons(judged.comparisons)
    return tag("details", summary, comparisons, tag("p", note, class_="note"), class_=f"claim {judged.verdict}")


def _dot(verdict: Verdict, title: str | None = None) -> Html:
    return tag("i", class_=f"dot {verdict}", title=title)


def _comparisons(comparisons: Sequence[Judged]) -> Html:
    widest = dict.fromkeys(Metric, 0.0)
    for each in comparisons:
        metric = each.comparison.metric
        widest[metric] = max(widest[metric], _extent(each))
    rows = (
        tag(
            "tr",
            tag("th", claimed(each.comparison), scope="row"),
            tag("td", printed_difference(each.comparison), class_="n"),
            tag("td", _whisker(each, widest[each.comparison.metric]), class_="plot"),
            tag("td", interval_text(each.interval, _decimals(each) + 1)),
            tag("td", _dot(each.verdict), f" {each.verdict}"),
        )
        for each in comparisons
    )
    return table("Comparisons behind the verdict", [map(heading, HEADINGS)], rows)


def _decimals(judged: Judged) -> int:
    return load_table3().row(judged.comparison.rows[0]).cell(judged.comparison.metric).decimals


def _extent(judged: Judged) -> float:
    """The largest value to draw, positive."""
    ends = [] if judged.interval is None else [abs(judged.interval.low), abs(judged.interval.high)]
    if not isinstance(judged.comparison, Ordering):
        ends.append(2 * float(judged.comparison.within))
    return max(filter(math.isfinite, ends), default=1.0) or 1.0


def _whisker(judged: Judged, extent: float) -> Html | None:
    """An interval as a line with a dot, zero in the middle, over the part of the axis that the claim names."""
    interval = judged.interval
    if interval is None or not all(map(math.isfinite, (interval.low, interval.estimate, interval.high))):
        return None

    def x(value: float) -> float:
        return round(80 + 76 * max(-1.0, min(1.0, value / extent)), 1)

    comparison = judged.comparison
    if isinstance(comparison, Ordering):
        left, right = (80.0, 160.0) if comparison.metric.sign > 0 else (0.0, 80.0)
    else:
        left, right = x(-float(comparison.within)), x(float(comparison.within))
    return tag(
        "svg",
        tag("rect", x=left, y=0, width=round(right - left, 1), height=16, class_="claimed"),
        tag("line", x1=80, x2=80, y1=0, y2=16, class_="zero"),
        tag("line", x1=x(interval.low), x2=x(interval.high), y1=8, y2=8, class_="whisker"),
        tag("circle", cx=x(interval.estimate), cy=8, r=3, class_="estimate"),
        viewBox="0 0 160 16",
        width=160,
        height=16,
        class_=f"interval {judged.verdict}",
        aria_hidden="true",
    )
