"""The paper's claims on Table 3: their verdicts, and the comparisons behind these."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from aiayn.evaluation.significance import Bootstrap, Interval, Resampled, seeds_to_decide
from aiayn.paper.claims import Claim, Comparison, Metric, Ordering, Sameness
from aiayn.paper.table3 import Cell, Row, load_table3
from aiayn.reports.formats import Grid
from aiayn.reports.numbers import interval_text, signed
from aiayn.reports.scope import Scope
from aiayn.reports.verdicts import Verdict, all_hold, verdict_of_side

NO_EVIDENCE = "*"
"""Marks verdicts for which these runs are no evidence."""


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


def paper_cell(row: Row, metric: Metric) -> Cell:
    """The printed cell of a row."""
    return row.ppl if metric is Metric.ppl else row.bleu


def paper_value(row: Row, metric: Metric) -> float:
    """Its value; the paper leaves none of these blank."""
    value = paper_cell(row, metric).value
    assert value is not None
    return value


def of_metric(measured: Bootstrap, metric: Metric) -> Resampled:
    """The measurements of one metric."""
    return measured.ppl if metric is Metric.ppl else measured.bleu


def judge(claim: Claim, measured: Bootstrap | None, places: Mapping[str, int]) -> JudgedClaim:
    """Compare a claim with the measurements.

    Args:
        claim: of the paper.
        measured: the rows that have finished runs; None if there are none.
        places: the index of each of them among the measured systems, by row id.
    """
    judged = []
    for comparison in claim.comparisons:
        if measured is None or not all(row in places for row in comparison.rows):
            judged.append(Judged(comparison, None, Verdict.pending, None))
            continue
        first, second = (places[row] for row in comparison.rows)
        judged.append(judge_comparison(comparison, of_metric(measured, comparison.metric).difference(first, second)))
    return JudgedClaim(claim, all_hold([each.verdict for each in judged]), tuple(judged))


def judge_comparison(comparison: Comparison, interval: Interval) -> Judged:
    """Compare one difference, the first row minus the second, with the claimed one."""
    if isinstance(comparison, Ordering):
        sign = comparison.metric.sign
        low, high = sorted((sign * interval.low, sign * interval.high))
        verdict = verdict_of_side(holds=low > 0, fails=high < 0)
        distance = interval.estimate
    else:
        limit = float(comparison.within)
        verdict = verdict_of_side(
            holds=-limit < interval.low and interval.high < limit, fails=interval.low > limit or interval.high < -limit
        )
        distance = limit - abs(interval.estimate)
    seeds = seeds_to_decide(interval, distance) if verdict is Verdict.undecided else None
    return Judged(comparison, interval, verdict, seeds)


def claim_grids(claims: Sequence[JudgedClaim], scope: Scope) -> list[Grid]:
    """The claims with their verdicts, and the comparisons behind them."""
    marks = f" ({NO_EVIDENCE} not evidence: see the first lines)" if scope.not_evidence else ""
    by_group = groupby(claims, key=lambda judged: judged.claim.group)
    verdicts = Grid(
        f"What the paper concludes, and what these runs say{marks}",
        ("<id", "<section", "<claim", "<verdict", "seeds to decide"),
        tuple(tuple(_claim_line(each, scope) for each in group) for _, group in by_group),
    )
    comparisons = Grid(
        "The comparisons behind the verdicts",
        ("<claim", "<claimed", "paper", "<ours, first minus second", "<verdict"),
        tuple(tuple(_comparison_line(each, judged, scope) for judged in each.comparisons) for each in claims),
    )
    return [verdicts, comparisons]


def _claim_line(judged: JudgedClaim, scope: Scope) -> tuple[str, ...]:
    claim = judged.claim
    verdict = verdict_text(scope, claim.id, judged.verdict)
    return claim.id, claim.section, claim.statement, verdict, str(judged.seeds_needed or "")


def _comparison_line(claim: JudgedClaim, judged: Judged, scope: Scope) -> tuple[str, ...]:
    comparison = judged.comparison
    decimals = paper_cell(load_table3().row(comparison.rows[0]), comparison.metric).decimals
    interval = interval_text(judged.interval, decimals + 1)
    verdict = verdict_text(scope, claim.claim.id, judged.verdict)
    return claim.claim.id, claimed(comparison), printed_difference(comparison), interval, verdict


def verdict_text(scope: Scope, claim: str, verdict: Verdict) -> str:
    """A verdict on a claim or a part of it, marked if these runs are no evidence."""
    return f"{verdict} {NO_EVIDENCE}" if claim in scope.not_evidence else verdict.value


def claimed(comparison: Comparison) -> str:
    """The claim in symbols, as in PPL of base < a_h32."""
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


def plain_claim(judged: JudgedClaim, scope: Scope) -> dict[str, Any]:
    """For JSON."""
    return {
        "claim": dataclasses.asdict(judged.claim) | {"needs": sorted(judged.claim.needs)},
        "verdict": judged.verdict,
        "is_evidence": judged.claim.id not in scope.not_evidence,
        "comparisons": [dataclasses.asdict(each) for each in judged.comparisons],
        "seeds_needed": judged.seeds_needed,
    }
