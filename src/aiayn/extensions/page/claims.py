"""The paper's claims as the page shows them: remarks, and the intervals of the comparisons behind them as lines."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aiayn.paper.claims import Metric
from aiayn.reports.claim_grids import notes
from aiayn.reports.judgement import JudgedClaim, JudgedComparison
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

MIDDLE, HALF = 80.0, 76.0
"""Where zero is in a drawing, and how far from it the longest interval of a metric ends."""


@dataclass(frozen=True)
class Interval:
    """Horizontal places in a drawing that is `2 * MIDDLE` wide."""

    low: float
    estimate: float
    high: float
    claimed_from: float
    """The left end of the half that the claim names."""


def compared_verdicts(report: Report) -> list[Verdict]:
    """Those that a comparison has."""
    found = {each.verdict for judged in report.claims for each in (*judged.primary, *judged.secondary)}
    return [verdict for verdict in Verdict if verdict in found]


def claim_remarks(judged: JudgedClaim) -> Iterator[str]:
    """Where the claim is from, and what limits its verdict."""
    yield f"Section {judged.claim.section} of the paper, group {judged.claim.group}."
    if judged.reason:
        yield f"Not tested: {judged.reason}."
    elif judged.power is not None:
        yield f"Power for the assumed differences: {judged.power:.0%}."
    yield from (f"{each.capitalize()}." for each in notes(judged))


def with_intervals(comparisons: Sequence[JudgedComparison]) -> Iterator[tuple[JudgedComparison, Interval | None]]:
    """Each comparison with its interval, on one axis for each metric; None where there is nothing to draw."""
    widest = dict.fromkeys(Metric, 0.0)
    for each in comparisons:
        low, _, high = _ends(each) or (0.0, 0.0, 0.0)
        metric = each.comparison.metric
        widest[metric] = max(widest[metric], max(abs(low), abs(high)) or 1.0)
    for each in comparisons:
        metric, ends = each.comparison.metric, _ends(each)
        if ends is None:
            yield each, None
            continue
        shares = (max(-1.0, min(1.0, end / widest[metric])) for end in ends)
        low, estimate, high = (round(MIDDLE + HALF * share, 1) for share in shares)
        yield each, Interval(low, estimate, high, claimed_from=MIDDLE if metric.sign > 0 else 0.0)


def _ends(judged: JudgedComparison) -> tuple[float, float, float] | None:
    """Low end, estimate and high end; None where one is not known or infinite."""
    effect = judged.effect
    if effect is None or effect.low is None or effect.high is None:
        return None
    ends = effect.low, effect.estimate, effect.high
    return ends if all(map(math.isfinite, ends)) else None
