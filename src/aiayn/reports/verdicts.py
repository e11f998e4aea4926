"""Whether measured rows bear the paper's claims out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from aiayn.evaluation.significance import Bootstrap, Interval, Resampled, seeds_to_decide
from aiayn.paper.claims import Claim, Comparison, Metric, Ordering


class Verdict(StrEnum):
    """What became of a claim."""

    reproduced = "reproduced"
    """Every interval lies on the claimed side."""
    contradicted = "contradicted"
    """Some interval lies on the other side."""
    undecided = "undecided"
    pending = "pending"
    """A row that it needs has no finished run, and nothing contradicts it yet."""
    incomparable = "not comparable"
    """It is about printed numbers, and these runs are of another scale or of other data."""


@dataclass(frozen=True)
class Judged:
    """One comparison with the numbers behind its verdict."""

    comparison: Comparison
    interval: Interval | None
    """Of the first row minus the second; None where one of them has no finished run."""
    verdict: Verdict
    seeds_needed: int | None
    """Seeds of each row that would decide it, where it is undecided and that many are known to."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    comparisons: tuple[Judged, ...]

    @property
    def seeds_needed(self) -> int | None:
        """Seeds of each row that would decide all of its undecided comparisons; None where that is not known."""
        needed = [judged.seeds_needed for judged in self.comparisons if judged.verdict is Verdict.undecided]
        known = [seeds for seeds in needed if seeds is not None]
        return max(known) if known and len(known) == len(needed) else None


def of_metric(measured: Bootstrap, metric: Metric) -> Resampled:
    """The measurements of one metric."""
    return measured.ppl if metric is Metric.ppl else measured.bleu


def judge(claim: Claim, measured: Bootstrap | None, places: Mapping[str, int]) -> JudgedClaim:
    """Compare a claim with what was measured.

    Args:
        claim: of the paper.
        measured: the rows that have finished runs; None where there are none.
        places: where each of them stands among the measured systems, by row id.
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
    """Compare one difference, the first row minus the second, with what is claimed of it."""
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


def verdict_of_side(*, holds: bool, fails: bool) -> Verdict:
    """Of an interval that lies wholly on the claimed side, wholly on the other, or on both."""
    return Verdict.reproduced if holds else Verdict.contradicted if fails else Verdict.undecided


def all_hold(verdicts: Sequence[Verdict]) -> Verdict:
    """All comparisons have to hold, and one that fails is enough against the claim."""
    for verdict in (Verdict.contradicted, Verdict.pending, Verdict.incomparable, Verdict.undecided):
        if verdict in verdicts:
            return verdict
    return Verdict.reproduced
