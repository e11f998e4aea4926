"""Judged claims as tables of text."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from aiayn.evaluation.significance import SeedNoise
from aiayn.paper.claims import Comparison, Metric
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import JudgedClaim, JudgedComparison
from aiayn.reports.numbers import effect_text, signed

DECIMALS = {Metric.ppl: 3, Metric.bleu: 2}
"""Digits after the point of printed differences."""


def claim_grids(claims: Sequence[JudgedClaim], *, claimant: str, stated: str, beside: str = "") -> list[Grid]:
    """The claims with their verdicts, and the comparisons behind them.

    Args:
        claims: in their order.
        claimant: source of the claims in the title, as in "the paper".
        stated: heading of the column of stated effects.
        beside: a budget that is not the primary one, for the titles.
    """
    if not claims:
        return []

    def claim_line(judged: JudgedClaim) -> tuple[str, ...]:
        claim, power = judged.claim, "" if judged.power is None else f"{judged.power:.0%}"
        return claim.id, claim.section, claim.statement, judged.verdict.value, power, ", ".join(notes(judged))

    def comparison_line(claim: str, judged: JudgedComparison) -> tuple[str, ...]:
        comparison = judged.comparison
        found = effect_text(judged.effect, DECIMALS[comparison.metric])
        return claim, comparison.text, effect_stated(comparison), found, judged.verdict.value

    by_group = [tuple(group) for _, group in groupby(claims, key=lambda judged: judged.claim.group)]
    grids = [
        Grid(
            f"Claims of {claimant} and their verdicts{beside}",
            ("<id", "<section", "<claim", "<verdict", "power", "<beside it"),
            tuple(tuple(map(claim_line, group)) for group in by_group),
        )
    ]
    for title, kind in (("The comparisons behind the verdicts", "primary"), ("Secondary comparisons", "secondary")):
        groups = tuple(tuple(comparison_line(each.claim.id, one) for one in getattr(each, kind)) for each in claims)
        if any(groups):
            headings = ("<claim", "<claimed", stated, "<ours", "<verdict")
            grids.append(Grid(f"{title}{beside}", headings, tuple(filter(None, groups))))
    return grids


def notes(judged: JudgedClaim) -> Iterator[str]:
    """What is said beside a verdict."""
    if judged.is_closing:
        yield "closing"
    if any(each.is_smaller for each in judged.primary):
        yield "smaller than stated"
    if judged.opposite_steps:
        yield f"opposite: {', '.join(judged.opposite_steps)}"


def untested_remarks(claims: Sequence[JudgedClaim]) -> Iterator[str]:
    """The claims that were not tested, by reason."""
    reasons: dict[str, list[str]] = {}
    for judged in claims:
        if judged.reason:
            reasons.setdefault(judged.reason, []).append(judged.claim.id)
    for reason, names in reasons.items():
        yield f"Not tested: {', '.join(names)}: {reason}."


def pooled_remarks(noises: Mapping[Metric, SeedNoise], seeds: Mapping[str, int]) -> Iterator[str]:
    """How intervals with a pooled variance are computed, and the rows whose intervals rest on that of others.

    Args:
        noises: the variances between seeds, from all rows together; empty if none has two seeds.
        seeds: the number of seeds of each row.
    """
    if not noises:
        yield "no intervals: no row has two seeds, so the variation between seeds is unknown"
        return
    parts = " and ".join(_noise_text(metric, noise) for metric, noise in noises.items())
    yield (
        "95% intervals: paired by sentence, with the standard deviation between seeds from all rows together "
        f"({parts}), which is wrong for rows that vary by more or less than others; differences of PPL are of its "
        "logarithm"
    )
    if alone := [row for row, count in seeds.items() if count == 1]:
        yield f"intervals of {', '.join(alone)} assume that they vary like other rows between seeds: they have one seed"


def _noise_text(metric: Metric, noise: SeedNoise) -> str:
    deviation, smallest, largest = (
        f"{value:.{DECIMALS[metric]}f}" for value in (noise.deviation, noise.smallest, noise.largest)
    )
    own = f"of single rows {smallest} to {largest}"
    return f"{deviation} {metric.compared}, {noise.freedom} degrees of freedom, {own}"


RULE_REMARKS = (
    "claims are about differences at this budget, on log PPL unless a comparison names BLEU, at 2.5% one-sided "
    "(likeness: at 5% on each side); contradictions are corrected over all primary comparisons (Holm); a trend is the "
    "slope per doubling, and not monotone where one of its steps is significantly opposite (5%, Holm over its steps)",
    "closing: the course of the second half of training does not show that the difference is still there at one and a "
    "half times the steps; smaller than stated: the interval excludes the stated difference",
)
"""How claims are judged, of studies and of tables without one."""


def effect_stated(comparison: Comparison) -> str:
    """The stated contrast."""
    return signed(comparison.effect, DECIMALS[comparison.metric])
