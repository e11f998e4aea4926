"""Claims judged: gates, tests, power, and the seeds needed for a decision."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from aiayn.evaluation.decisions import EQUIVALENCE_LEVEL, Design, Hypothesis, Noise, decide
from aiayn.evaluation.significance import Effect, Measured, Measurements, measure, sentence_columns
from aiayn.paper.claims import Claim, Comparison, Metric
from aiayn.reports.gates import Curves, failed_gate
from aiayn.reports.reported_runs import ReportedRun
from aiayn.reports.verdicts import OPEN, Verdict, verdict_of

POWER_CONFIDENCE = 0.8
"""One-sided confidence of the upper bound of the variance between seeds, with which power is computed."""

Noises = Mapping[Metric, Noise]
"""The variances that power is computed with, by metric."""


@dataclass(frozen=True)
class MeasuredRows:
    """The measurements of the rows with finished runs."""

    measured: Measurements | None
    """None if there are none."""
    places: Mapping[str, int]
    """The index of each row among the measured systems, by row id."""

    @classmethod
    def of(cls, rows: Mapping[str, Sequence[ReportedRun]]) -> Self:
        """The measurements on dev of rows with finished runs; UserError if the scores of sentences cannot be read."""
        systems = [[sentence_columns(run.sentences("dev")) for run in runs] for runs in rows.values()]
        return cls(measure(systems) if systems else None, {row: n for n, row in enumerate(rows)})

    def by(self, metric: Metric) -> Measured:
        """The measurements of one metric; there are finished runs."""
        found: Measured = getattr(self.measured, metric)
        return found

    def has(self, rows: Sequence[str]) -> bool:
        """Whether all these rows have finished runs."""
        return self.places.keys() >= set(rows)

    def difference(self, metric: Metric, first: str, second: str) -> Effect | None:
        """The first row minus the second; None if one of them has no finished run."""
        if not self.has([first, second]):
            return None
        return self.by(metric).difference(self.places[first], self.places[second])

    def seeds(self, row: str) -> int:
        """The number of finished runs of a row."""
        return self.by(Metric.ppl).seeds[self.places[row]] if row in self.places else 0


@dataclass(frozen=True)
class JudgedComparison:
    """One comparison with the numbers behind its verdict."""

    comparison: Comparison
    effect: Effect | None
    """The first row minus the second; None if one of them has no finished run."""
    verdict: Verdict
    p_supported: float | None
    """One-sided p-value of the claim; None where it was not tested."""
    p_contradicted: float | None
    """One-sided p-value of the contradiction before Holm's correction; None where it was not tested."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "metric": self.comparison.metric.value,
            "rows": list(self.comparison.rows),
            "within": self.comparison.within,
            "assumed_effect": self.comparison.effect,
            "difference": None if self.effect is None else self.effect.plain(),
            "verdict": self.verdict.value,
            "p_supported": self.p_supported,
            "p_contradicted": self.p_contradicted,
        }


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    reason: str
    """Why it was not tested; empty if it was."""
    power: float | None
    """The probability of "reproduced" if the assumed effects are true; None if the variances are unknown."""
    seeds_needed: int | None
    """Seeds of each row for a power of 80%; None for a decided claim, and if more than `MOST_SEEDS` are needed."""
    primary: tuple[JudgedComparison, ...]
    secondary: tuple[JudgedComparison, ...]

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "claim": self.claim.id,
            "statement": self.claim.statement,
            "verdict": self.verdict.value,
            "reason": self.reason or None,
            "power": self.power,
            "seeds_needed": self.seeds_needed,
            "primary": [each.plain() for each in self.primary],
            "secondary": [each.plain() for each in self.secondary],
        }


def own_noises(rows: MeasuredRows, base: str) -> Noises | None:
    """The variances of the measured rows themselves, for power where no pilots were run; None without two seeds."""
    if rows.measured is None or rows.by(Metric.ppl).noise is None:
        return None
    return {metric: _noise(rows.by(metric), rows.places.get(base)) for metric in Metric}


def _noise(measured: Measured, base: int | None) -> Noise:
    """The variances of one metric, with the upper bound of that between seeds.

    With base alone, two systems are assumed to differ from sentence to sentence as much as two seeds.
    """
    assert measured.noise is not None
    others = [place for place in range(len(measured.seeds)) if place != base]
    if base is None or not others:
        sentences = 2 * measured.noise.sentence_share
    else:
        sentences = float(np.median([measured.sentence_variance(place, base) for place in others]))
    return Noise(measured.noise.upper_variance(POWER_CONFIDENCE), sentences)


def judge_claims(
    claims: Sequence[Claim],
    rows: MeasuredRows,
    curves: Curves,
    *,
    base: str,
    noises: Noises | None,
    powers: Mapping[str, float | None] | None = None,
    lacking: Callable[[Claim], str] = lambda _: "",
) -> tuple[JudgedClaim, ...]:
    """Judge all claims of a table.

    Args:
        claims: all claims of the table; Holm's correction is over all their primary comparisons, tested or not.
        rows: the measurements.
        curves: perplexity on dev of the measured rows, for gates.
        base: the row that most claims compare with.
        noises: the variances for power, as known before the runs; None: those of the runs themselves.
        powers: the power of each claim by id, as computed before the runs. Where it is None, power is computed from
            `noises` and the seeds of the runs.
        lacking: why a claim's runs do not suffice yet; empty: it has all planned ones.
    """

    def reason(claim: Claim) -> str:
        return lacking(claim) or _reason(claim, rows, curves, base)

    reasons = [reason(claim) for claim in claims]
    noises = own_noises(rows, base) if noises is None else noises
    seeds = {row: rows.seeds(row) for row in rows.places}
    known = [None if powers is None else powers[claim.id] for claim in claims]
    if None in known:  # also in a study without pilots
        computed = power_of(claims, seeds, noises)
        known = [own if power is None else power for power, own in zip(known, computed, strict=True)]
    of_rows = [[not reason] * len(claim.primary) for claim, reason in zip(claims, reasons, strict=True)]
    primary = judge_comparisons([claim.primary for claim in claims], rows, of_rows)
    also = [
        [not failed and not reason(replace(claim, primary=(each,))) for each in claim.secondary]
        for claim, failed in zip(claims, reasons, strict=True)
    ]
    secondary = judge_comparisons([claim.secondary for claim in claims], rows, also)
    judged = []
    for n, claim in enumerate(claims):
        supported = [each.verdict is Verdict.reproduced for each in primary[n]]
        contradicted = [each.verdict is Verdict.contradicted for each in primary[n]]
        verdict = verdict_of(supported, contradicted, is_tested=not reasons[n], power=known[n])
        needed = seeds_for(claim, seeds, base, noises) if verdict in OPEN and noises else None
        judged.append(JudgedClaim(claim, verdict, reasons[n], known[n], needed, primary[n], secondary[n]))
    return tuple(judged)


def _reason(claim: Claim, rows: MeasuredRows, curves: Curves, base: str) -> str:
    missing = [row for row in claim.rows if row not in rows.places]
    if missing:
        return f"no finished run of {', '.join(missing)}"
    if rows.by(Metric.ppl).noise is None:
        return "no row has two seeds, so the variation between seeds is unknown"
    return failed_gate(claim, curves, base)


def judge_comparisons(
    comparisons: Sequence[Sequence[Comparison]], rows: MeasuredRows, tested: Sequence[Sequence[bool]]
) -> list[tuple[JudgedComparison, ...]]:
    """The comparisons of each claim, tested together.

    Args:
        comparisons: the comparisons of each claim.
        rows: the measurements.
        tested: whether each comparison is tested; the others count in the correction.
    """
    family = [
        (each, is_tested)
        for pair in zip(comparisons, tested, strict=True)
        for each, is_tested in zip(*pair, strict=True)
    ]
    effects = [rows.difference(each.metric, *each.rows) for each, _ in family]
    known = [effect if is_tested else None for effect, (_, is_tested) in zip(effects, family, strict=True)]
    values, errors, freedoms = (
        np.array([np.nan if each is None or each.error is None else getattr(each, name) for each in known])
        for name in ("estimate", "error", "freedom")
    )
    found = decide([_hypothesis(each, {}) for each, _ in family], values, errors, freedoms)
    judged = iter(
        JudgedComparison(
            comparison=each,
            effect=_as_tested(effects[n], each),
            verdict=verdict_of([found.supported[n]], [found.contradicted[n]], is_tested=is_tested, power=None),
            p_supported=float(found.p_supported[n]) if is_tested else None,
            p_contradicted=float(found.p_contradicted[n]) if is_tested else None,
        )
        for n, (each, is_tested) in enumerate(family)
    )
    return [tuple(next(judged) for _ in claimed) for claimed in comparisons]


def _as_tested(effect: Effect | None, comparison: Comparison) -> Effect | None:
    """The difference with the interval that decides: likeness is reproduced where the 90% one is within the margin."""
    if effect is None or comparison.within is None:
        return effect
    return replace(effect, confidence=1 - 2 * EQUIVALENCE_LEVEL)


def _hypothesis(comparison: Comparison, places: Mapping[str, int]) -> Hypothesis:
    """The hypothesis of a comparison; rows without a place have 0, for tests that need no place."""
    first, second = (places.get(row, 0) for row in comparison.rows)
    measure = list(Metric).index(comparison.metric)
    return Hypothesis(first, second, comparison.sign, comparison.within or 0.0, comparison.effect, measure)


def power_of(claims: Sequence[Claim], seeds: Mapping[str, int], noises: Noises | None) -> list[float | None]:
    """The power of each claim with these seeds of each row; None where a row has no seed or no variance is known."""
    if noises is None:
        return [None] * len(claims)
    places = {row: n for n, row in enumerate(seeds)}
    have = [n for n, claim in enumerate(claims) if places.keys() >= set(claim.rows)]
    design = _design([claims[n] for n in have], places, list(seeds.values()))
    powers = dict(zip(have, design.power([noises[metric] for metric in Metric]), strict=True)) if have else {}
    return [float(powers[n]) if n in powers else None for n in range(len(claims))]


def _design(claims: Sequence[Claim], places: Mapping[str, int], seeds: Sequence[int]) -> Design:
    hypotheses = [_hypothesis(each, places) for each in chain.from_iterable(claim.primary for claim in claims)]
    numbers = iter(range(len(hypotheses)))
    return Design(hypotheses, [[next(numbers) for _ in claim.primary] for claim in claims], seeds)


def seeds_for(claim: Claim, seeds: Mapping[str, int], base: str, noises: Noises) -> int | None:
    """Seeds of each row for a power of 80%; base keeps its present multiple of the other rows' seeds.

    The number applies to all rows of the table: the variance between seeds is estimated from them together.
    """
    factor, names = multiple_of_base(claim, seeds, base), list(dict.fromkeys((*seeds, *claim.rows)))
    design = _design([claim], {row: n for n, row in enumerate(names)}, [2] * len(names))
    factors = [factor if row == base else 1.0 for row in names]
    return design.seeds_needed([noises[metric] for metric in Metric], factors)


def multiple_of_base(claim: Claim, seeds: Mapping[str, int], base: str) -> float:
    """The seeds of base for each seed of the claim's other rows, at least 1; 1 if the claim is not about base."""
    others = [seeds[row] for row in claim.rows if row != base]
    return max(1.0, seeds[base] / max(1, *others)) if base in claim.rows and others else 1.0
