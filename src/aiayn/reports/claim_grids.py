"""Judged claims as tables of text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from aiayn.evaluation.decisions import MOST_SEEDS, TARGET_POWER
from aiayn.evaluation.significance import FEWEST_OF_OWN, SeedNoise
from aiayn.paper.claims import Comparison, Metric
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import JudgedClaim, JudgedComparison, MeasuredRows, judge_comparisons
from aiayn.reports.numbers import effect_text, signed
from aiayn.reports.verdicts import OPEN, Verdict

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

    def comparison_line(claim: str, judged: JudgedComparison) -> tuple[str, ...]:
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
    """The seeds for a power of 80%; empty for a claim that is decided, was not tested, or has this power."""
    if judged.verdict not in OPEN or (judged.power is not None and judged.power >= TARGET_POWER):
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


def interval_remarks(noises: Mapping[Metric, SeedNoise], seeds: Mapping[str, int]) -> Iterator[str]:
    """How intervals are computed, and the rows whose intervals rest on the variation of others.

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
        f"({parts}), or from the two rows alone (Welch, with at least {FEWEST_OF_OWN} seeds each) where that interval "
        "is wider; differences of PPL are of its logarithm"
    )
    if alone := [row for row, count in seeds.items() if count == 1]:
        yield f"intervals of {', '.join(alone)} assume that they vary like other rows between seeds: they have one seed"


def _noise_text(metric: Metric, noise: SeedNoise) -> str:
    deviation, smallest, largest = (
        f"{value:.{DECIMALS[metric]}f}" for value in (noise.deviation, noise.smallest, noise.largest)
    )
    own = f"of single rows {smallest} to {largest}"
    return f"{deviation} {metric.compared}, {noise.freedom} degrees of freedom, {own}"


def effect_remarks(claims: Sequence[JudgedClaim], rows: MeasuredRows, base: str) -> Iterator[str]:
    """Assumed differences that open comparisons exclude, and further rows within the margin of a claimed likeness."""
    for judged in claims:
        for one in judged.primary if judged.verdict is not Verdict.not_tested else ():
            comparison, effect = one.comparison, one.effect
            if one.verdict is Verdict.reproduced and comparison.within is not None:
                others = [row for row in rows.places if row not in (base, *comparison.rows)]
                alike = [row for row in others if _is_within(rows, row, base, comparison)]
                if alike:
                    yield f"{judged.claim.id}: by the same test, within the margin of {base} too: {', '.join(alike)}"
            elif one.verdict in OPEN and effect is not None and effect.low is not None and effect.high is not None:
                if not effect.low <= comparison.effect <= effect.high:
                    yield f"{judged.claim.id}: the interval of {claimed(comparison)} excludes the assumed difference"


def _is_within(rows: MeasuredRows, row: str, base: str, likeness: Comparison) -> bool:
    """Whether a row is within the margin of base, by the test of a likeness."""
    alike = replace(likeness, first=row, second=base)
    ((judged,),) = judge_comparisons([[alike]], rows, [[True]])
    return judged.verdict is Verdict.reproduced


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
