"""The paper's claims with their verdicts, and the comparisons behind each."""

import math
from collections import Counter
from collections.abc import Sequence

from aiayn.extensions.page.markup import Html, heading, joined, table, tag, with_symbols
from aiayn.paper.claims import Metric
from aiayn.reports.claim_grids import DECIMALS, effect_stated, notes
from aiayn.reports.judgement import JudgedClaim, JudgedComparison
from aiayn.reports.numbers import effect_text
from aiayn.reports.tables.table3_results import Report
from aiayn.reports.verdicts import Verdict

MARKS = {
    Verdict.reproduced: "✓",
    Verdict.contradicted: "✕",
    Verdict.not_monotone: "∿",
    Verdict.under_powered: "~",
    Verdict.undecided: "?",
    Verdict.not_tested: "–",
}
"""A shape for each verdict, besides its colour."""

HEADINGS = (
    "<claimed",
    "paper",
    "<ours; shaded: where the claim puts it",
    "<95% interval unless stated",
    "<verdict",
)


def verdict_counts(report: Report) -> Html:
    """The number of claims by verdict, at the top of the page."""
    counts = Counter(judged.verdict for judged in report.claims)
    numbers = (
        tag(
            "div",
            tag("dt", verdict),
            tag("dd", str(counts[verdict])),
            class_=f"count {_name(verdict)}",
            style=f"flex-grow:{counts[verdict]}",
        )
        for verdict in Verdict
        if counts[verdict]
    )
    return tag("dl", *numbers, class_="counts")


def dot_key(report: Report) -> Html | None:
    """The meaning of the dots beside the claims: one of each verdict that a comparison has."""
    found = {each.verdict for judged in report.claims for each in (*judged.primary, *judged.secondary)}
    dots = (tag("span", _dot(verdict), verdict) for verdict in Verdict if verdict in found)
    return tag("p", "A dot is a comparison behind the claim:", *dots, class_="note key") if found else None


def claim_list(report: Report) -> Html:
    """Each claim with its verdict; it opens to the comparisons behind it."""
    return tag("div", *map(_claim, report.claims), class_="claims")


def _name(verdict: Verdict) -> str:
    """Name of its class in the style sheet."""
    return verdict.replace(" ", "-")


def _claim(judged: JudgedClaim) -> Html:
    dots = (_dot(each.verdict, f"{each.comparison.text}: {each.verdict}") for each in judged.primary)
    summary = tag(
        "summary",
        tag("span", MARKS[judged.verdict], class_="mark", aria_hidden="true"),
        tag("span", with_symbols(judged.claim.statement), class_="statement"),
        tag("span", *dots, class_="dots", aria_hidden="true"),
        tag("span", judged.verdict.value, class_="verdict"),
    )
    parts = [_comparisons("Comparisons behind the verdict", judged.primary)]
    if judged.secondary:
        parts.append(_comparisons("Secondary comparisons, which do not affect the verdict", judged.secondary))
    note = tag("p", " ".join(_notes(judged)), class_="note")
    return tag("details", summary, joined(parts, ""), note, class_=f"claim {_name(judged.verdict)}")


def _notes(judged: JudgedClaim) -> list[str]:
    said = [f"Section {judged.claim.section} of the paper, group {judged.claim.group}."]
    if judged.reason:
        said.append(f"Not tested: {judged.reason}.")
    elif judged.power is not None:
        said.append(f"Power for the assumed differences: {judged.power:.0%}.")
    said += [f"{each.capitalize()}." for each in notes(judged)]
    return said


def _dot(verdict: Verdict, title: str | None = None) -> Html:
    return tag("i", class_=f"dot {_name(verdict)}", title=title)


def _comparisons(title: str, comparisons: Sequence[JudgedComparison]) -> Html:
    widest = dict.fromkeys(Metric, 0.0)
    for each in comparisons:
        metric = each.comparison.metric
        widest[metric] = max(widest[metric], _extent(each))
    rows = (
        tag(
            "tr",
            tag("th", each.comparison.text, scope="row"),
            tag("td", effect_stated(each.comparison), class_="n"),
            tag("td", _whisker(each, widest[each.comparison.metric]), class_="plot"),
            tag("td", effect_text(each.effect, DECIMALS[each.comparison.metric])),
            tag("td", _dot(each.verdict), f" {each.verdict}"),
        )
        for each in comparisons
    )
    return table(title, [map(heading, HEADINGS)], rows)


def _ends(judged: JudgedComparison) -> tuple[float, float, float] | None:
    """Low end, estimate and high end; None where there is nothing to draw."""
    effect = judged.effect
    if effect is None or effect.low is None or effect.high is None:
        return None
    ends = effect.low, effect.estimate, effect.high
    return ends if all(map(math.isfinite, ends)) else None


def _extent(judged: JudgedComparison) -> float:
    """The largest value to draw, positive."""
    low, _, high = _ends(judged) or (0.0, 0.0, 0.0)
    return max(abs(low), abs(high)) or 1.0


def _whisker(judged: JudgedComparison, extent: float) -> Html | None:
    """An interval as a line with a dot, zero in the middle, over the part of the axis that the claim names."""
    ends = _ends(judged)
    if ends is None:
        return None

    def x(value: float) -> float:
        return round(80 + 76 * max(-1.0, min(1.0, value / extent)), 1)

    low, estimate, high = map(x, ends)
    left, right = (80.0, 160.0) if judged.comparison.metric.sign > 0 else (0.0, 80.0)
    return tag(
        "svg",
        tag("rect", x=left, y=0, width=round(right - left, 1), height=16, class_="claimed"),
        tag("line", x1=80, x2=80, y1=0, y2=16, class_="zero"),
        tag("line", x1=low, x2=high, y1=8, y2=8, class_="whisker"),
        tag("circle", cx=estimate, cy=8, r=3, class_="estimate"),
        viewBox="0 0 160 16",
        width=160,
        height=16,
        class_=f"interval {_name(judged.verdict)}",
        aria_hidden="true",
    )
