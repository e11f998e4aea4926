"""Judged claims as tables of text."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from aiayn.evaluation.decisions import MOST_SEEDS
from aiayn.paper.claims import Comparison, Metric
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import Judged, JudgedClaim
from aiayn.reports.numbers import effect_text, signed
from aiayn.reports.verdicts import OPEN

DECIMALS = {Metric.ppl: 3, Metric.bleu: 2}
"""Digits after the point of printed differences."""

TOO_MANY_SEEDS = f"more than {MOST_SEEDS}"
"""In the place of a number of seeds that is not searched for."""


def claim_grids(claims: Sequence[JudgedClaim], *, claimant: str, assumed: str) -> list[Grid]:
    """The claims with their verdicts, and the comparisons behind them.

    Args:
        claims: in their order.
        claimant: source of the claims in the title, as in "the paper".
        assumed: heading of the column of assumed effects.
    """

    def claim_line(judged: JudgedClaim) -> tuple[str, ...]:
        claim, power = judged.claim, "" if judged.power is None else f"{judged.power:.0%}"
        return claim.id, claim.section, claim.statement, judged.verdict.value, power, seeds_needed_text(judged)

    def comparison_line(claim: str, judged: Judged) -> tuple[str, ...]:
        comparison = judged.comparison
        found = effect_text(judged.effect, DECIMALS[comparison.metric])
        return claim, claimed(comparison), effect_assumed(comparison), found, judged.verdict.value

    by_group = [tuple(group) for _, group in groupby(claims, key=lambda judged: judged.claim.group)]
    grids = [
        Grid(
            f"Claims of {claimant} and their verdicts",
            ("<id", "<section", "<claim", "<verdict", "power", "seeds for 80%"),
            tuple(tuple(map(claim_line, group)) for group in by_group),
        )
    ]
    for title, kind in (("The comparisons behind the verdicts", "primary"), ("Secondary comparisons", "secondary")):
        groups = tuple(tuple(comparison_line(each.claim.id, one) for one in getattr(each, kind)) for each in claims)
        if any(groups):
            headings = ("<claim", "<claimed", assumed, "<ours, first minus second", "<verdict")
            grids.append(Grid(title, headings, tuple(filter(None, groups))))
    return grids


def seeds_needed_text(judged: JudgedClaim) -> str:
    """The seeds for a power of 80%; empty for a claim that is decided or was not tested."""
    if judged.verdict not in OPEN:
        return ""
    return TOO_MANY_SEEDS if judged.seeds_needed is None else f"{judged.seeds_needed}"


def untested_remarks(claims: Sequence[JudgedClaim]) -> Iterator[str]:
    """The claims that were not tested, by reason."""
    reasons: dict[str, list[str]] = {}
    for judged in claims:
        if judged.reason:
            reasons.setdefault(judged.reason, []).append(judged.claim.id)
    for reason, names in reasons.items():
        yield f"Not tested: {', '.join(names)}: {reason}."


def claimed(comparison: Comparison) -> str:
    """The claim in symbols, as in PPL of base < a_h32."""
    first, second = comparison.rows
    metric = comparison.metric
    if comparison.within is not None:
        return f"{first}, {second} within {comparison.within:g} {metric.compared}"
    return f"{metric.upper()} of {first} {'>' if metric.sign > 0 else '<'} {second}"


def effect_assumed(comparison: Comparison) -> str:
    """The first row minus the second, as assumed for power."""
    return signed(comparison.effect, DECIMALS[comparison.metric])
