"""The paper's claims on Table 3: their verdicts, and the comparisons behind these."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from aiayn.evaluation.significance import Bootstrap, Interval, Resampled, seeds_to_decide
from aiayn.paper.claims import Claim, Comparison, Metric, Sameness
from aiayn.paper.tables import load_table3
from aiayn.reports.formats import Grid
from aiayn.reports.numbers import interval_text, signed
from aiayn.reports.scope import Scope
from aiayn.reports.verdicts import Verdict, all_hold, verdict_of_side

NO_EVIDENCE = "*"
"""Marks verdicts for which these runs are no evidence."""


@dataclass(frozen=True)
class MeasuredRows:
    """The bootstrap of the rows with finished runs."""

    measured: Bootstrap | None
    """None if there are none."""
    places: Mapping[str, int]
    """The index of each row among the measured systems, by row id."""

    def of(self, metric: Metric) -> Resampled:
        """The measurements of one metric; there are finished runs."""
        found: Resampled = getattr(self.measured, metric)
        return found

    def difference(self, metric: Metric, first: str, second: str) -> Interval | None:
        """The first row minus the second; None if one of them has no finished run."""
        if not {first, second} <= self.places.keys():
            return None
        return self.of(metric).difference(self.places[first], self.places[second])


@dataclass(frozen=True)
class Judged:
    """One comparison with the numbers behind its verdict."""

    comparison: Comparison
    interval: Interval | None
    """Of the first row minus the second; None if one of them has no finished run."""
    verdict: Verdict
    seeds_needed: int | None
    """Seeds of each row that would decide it, if it is undecided and the number can be estimated."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    comparisons: tuple[Judged, ...]

    @property
    def seeds_needed(self) -> int | None:
        """Seeds of each row that would decide all of its undecided comparisons; None if unknown."""
        needed = [judged.seeds_needed for judged in self.comparisons if judged.verdict is Verdict.undecided]
        known = [seeds for seeds in needed if seeds is not None]
        return max(known) if known and len(known) == len(needed) else None


def judge(claim: Claim, rows: MeasuredRows) -> JudgedClaim:
    """Compare a claim with the measurements."""
    judged = tuple(
        judge_comparison(comparison, rows.difference(comparison.metric, *comparison.rows))
        for comparison in claim.comparisons
    )
    return JudgedClaim(claim, all_hold([each.verdict for each in judged]), judged)


def judge_comparison(comparison: Comparison, interval: Interval | None) -> Judged:
    """Compare one difference, the first row minus the second, with the claimed one."""
    if interval is None:
        return Judged(comparison, None, Verdict.pending, None)
    if isinstance(comparison, Sameness):
        limit = float(comparison.within)
        verdict = verdict_of_side(
            holds=-limit < interval.low and interval.high < limit, fails=interval.low > limit or interval.high < -limit
        )
        distance = limit - abs(interval.estimate)
    else:
        low, high = sorted((comparison.metric.sign * interval.low, comparison.metric.sign * interval.high))
        verdict = verdict_of_side(holds=low > 0, fails=high < 0)
        distance = interval.estimate
    seeds = seeds_to_decide(interval, distance) if verdict is Verdict.undecided else None
    return Judged(comparison, interval, verdict, seeds)


def claim_grids(claims: Sequence[JudgedClaim], scope: Scope) -> list[Grid]:
    """The claims with their verdicts, and the comparisons behind them."""

    def claim_line(judged: JudgedClaim) -> tuple[str, ...]:
        claim = judged.claim
        verdict = verdict_text(scope, claim.id, judged.verdict)
        return claim.id, claim.section, claim.statement, verdict, str(judged.seeds_needed or "")

    def comparison_line(claim: str, judged: Judged) -> tuple[str, ...]:
        comparison = judged.comparison
        interval = interval_text(judged.interval, decimals_of(comparison) + 1)
        verdict = verdict_text(scope, claim, judged.verdict)
        return claim, claimed(comparison), printed_difference(comparison), interval, verdict

    marks = f" ({NO_EVIDENCE} not evidence: see the first lines)" if scope.not_evidence else ""
    by_group = groupby(claims, key=lambda judged: judged.claim.group)
    return [
        Grid(
            f"What the paper concludes, and what these runs say{marks}",
            ("<id", "<section", "<claim", "<verdict", "seeds to decide"),
            tuple(tuple(map(claim_line, group)) for _, group in by_group),
        ),
        Grid(
            "The comparisons behind the verdicts",
            ("<claim", "<claimed", "paper", "<ours, first minus second", "<verdict"),
            tuple(tuple(comparison_line(each.claim.id, judged) for judged in each.comparisons) for each in claims),
        ),
    ]


def verdict_text(scope: Scope, claim: str, verdict: Verdict) -> str:
    """A verdict on a claim or a part of it, marked if these runs are no evidence."""
    return f"{verdict} {NO_EVIDENCE}" if claim in scope.not_evidence else verdict.value


def decimals_of(comparison: Comparison) -> int:
    """Decimals of the cells that it compares."""
    return load_table3().row(comparison.rows[0]).cell(comparison.metric).decimals


def claimed(comparison: Comparison) -> str:
    """The claim in symbols, as in PPL of base < a_h32."""
    first, second = comparison.rows
    metric = comparison.metric
    if isinstance(comparison, Sameness):
        return f"{first}, {second} within {comparison.within} {metric.upper()}"
    return f"{metric.upper()} of {first} {'>' if metric.sign > 0 else '<'} {second}"


def printed_difference(comparison: Comparison) -> str:
    """The first row minus the second as the paper prints them."""
    first, second = (load_table3().row(row).cell(comparison.metric).number for row in comparison.rows)
    return signed(first - second, decimals_of(comparison))


def plain_claim(judged: JudgedClaim, scope: Scope) -> dict[str, Any]:
    """For JSON."""
    return {
        "claim": dataclasses.asdict(judged.claim) | {"needs": sorted(judged.claim.needs)},
        "verdict": judged.verdict,
        "is_evidence": judged.claim.id not in scope.not_evidence,
        "comparisons": [dataclasses.asdict(each) for each in judged.comparisons],
        "seeds_needed": judged.seeds_needed,
    }
