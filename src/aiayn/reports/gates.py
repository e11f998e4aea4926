"""Whether runs meet the conditions without which they cannot test a claim, from their perplexities on dev."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
from scipy.special import stdtr

from aiayn.paper.claims import Claim, Converged, Gate, OverFitting
from aiayn.reports.reported_runs import ReportedRun

Curve: TypeAlias = Mapping[int, float]
"""Perplexity on dev by optimizer step, of one run."""

Curves: TypeAlias = Mapping[str, Sequence[Curve]]
"""The curves of the finished runs of each row, by row."""


def curves_of(rows: Mapping[str, Sequence[ReportedRun]]) -> Curves:
    """The curves of the finished runs of some rows."""
    return {row: [run.entry.directory.validation_perplexities() for run in runs] for row, runs in rows.items()}


def failed_gate(claim: Claim, curves: Curves, base: str) -> str:
    """Why runs cannot test a claim, in words; empty if they can."""
    found = chain.from_iterable(_complaints(gate, claim, curves, base) for gate in claim.gates.values())
    return next(iter(found), "")


def _complaints(gate: Gate, claim: Claim, curves: Curves, base: str) -> list[str]:
    match gate:
        case Converged():
            may_rise = _rows_that_may_rise(claim)
            rows = dict.fromkeys((base, *claim.rows))
            found = (unconverged_reason(gate, row, curves.get(row, ()), may_rise=row in may_rise) for row in rows)
            return [text for text in found if text]
        case OverFitting():
            return [text] if (text := _not_over_fitted_reason(gate, curves.get(gate.row, ()))) else []


def _rows_that_may_rise(claim: Claim) -> set[str]:
    return {each.row for each in claim.gates.values() if isinstance(each, OverFitting)}


def unconverged_reason(gate: Converged, row: str, curves: Sequence[Curve], *, may_rise: bool) -> str:
    """Why a row has not converged, in words; empty if it has.

    A row's fall is the geometric mean over its runs: single validations vary by about as much as the gate allows, and
    the more seeds there were, the more often the largest of their falls would exceed it.

    Args:
        gate: the definition of convergence.
        row: its name.
        curves: the curves of its runs.
        may_rise: whether it may over-fit; in other rows, perplexity must also rise by less than `largest_fall`.
    """
    falls = [last_fall(curve, gate.last_share) for curve in curves]
    known = [fall for fall in falls if fall is not None]
    if not known or len(known) < len(falls):
        return f"{row} has no perplexity on dev before its last {gate.last_share:.0%} of steps"
    end = f"over the last {gate.last_share:.0%} of its steps"
    if not np.isfinite(known).all():
        return f"{row} has no finite perplexity on dev {end}"
    mean = float(-np.expm1(np.mean(np.log1p(np.negative(known)))))
    limit = f"limit {100 * gate.largest_fall:g}%"
    if mean >= gate.largest_fall:
        return f"{row} still loses {100 * mean:.3g}% of its perplexity {end} ({limit})"
    if -mean >= gate.largest_fall and not may_rise:
        return f"the perplexity of {row} rises by {-100 * mean:.3g}% {end} ({limit})"
    return ""


def chances_to_converge(
    claim: Claim, pilots: Curves, seeds: Mapping[str, int], base: str
) -> Iterator[tuple[str, float]]:
    """The rows of a claim that have two pilots or more, each with the probability that its runs converge.

    Args:
        claim: the claim, with its gates.
        pilots: the curves of the pilots, by row.
        seeds: the planned number of seeds of each row.
        base: the row that others are compared with.
    """
    may_rise = _rows_that_may_rise(claim)
    for gate in claim.gates.values():
        if isinstance(gate, Converged):
            for row in dict.fromkeys((base, *claim.rows)):
                chance = chance_to_converge(gate, pilots.get(row, ()), seeds[row], may_rise=row in may_rise)
                if chance is not None:
                    yield row, chance


def chance_to_converge(gate: Converged, pilots: Sequence[Curve], seeds: int, *, may_rise: bool) -> float | None:
    """The probability that a row with further seeds has converged, from the spread of its pilots.

    The mean change of log PPL of the further runs is taken as normal; its distribution given that of the pilots is
    Student's t.

    Args:
        gate: the definition of convergence.
        pilots: the curves of the pilots of this row.
        seeds: the number of further runs.
        may_rise: whether the row may over-fit.

    Returns:
        None with less than two pilots, or if one of them has no finite perplexity over the last steps.
    """
    falls = [last_fall(curve, gate.last_share) for curve in pilots]
    changes = np.log1p(np.negative([np.nan if fall is None else fall for fall in falls]))
    if len(falls) < 2 or not np.isfinite(changes).all():
        return None
    low, high = np.log1p(-gate.largest_fall), np.inf if may_rise else np.log1p(gate.largest_fall)
    spread = changes.std(ddof=1) * np.sqrt(1 / len(falls) + 1 / seeds)
    if not spread:
        return float(low < changes.mean() < high)
    below_high, below_low = stdtr(len(falls) - 1, (np.array([high, low]) - changes.mean()) / spread)
    return float(below_high - below_low)


def last_fall(curve: Curve, last_share: float) -> float | None:
    """The share of perplexity that a curve loses over its last steps; negative if it rises, NaN if it is infinite.

    Between two validations log PPL is interpolated. None if there is no validation before these steps.
    """
    steps = sorted(curve)
    if not steps or steps[0] > (start := (1 - last_share) * steps[-1]):
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.log([curve[step] for step in steps])
        fall = float(-np.expm1(values[-1] - np.interp(start, steps, values)))
    return fall if np.isfinite(fall) else float("nan")


def _not_over_fitted_reason(gate: OverFitting, curves: Sequence[Curve]) -> str:
    """Why a row does not over-fit: its mean curve has its minimum late, or rises by too little; empty if it does."""
    shared = sorted(set.intersection(*map(set, curves))) if curves else []
    if not shared:
        return f"{gate.row} has no perplexity on dev, which would show whether it over-fits"
    means = [float(np.mean(np.log([curve[step] for curve in curves]))) for step in shared]
    last = max(max(curve) for curve in curves)
    lowest = shared[int(np.argmin(means))]
    if lowest >= gate.minimum_before * last:
        return f"{gate.row} does not over-fit: its perplexity on dev is lowest at step {lowest:,} of {last:,}"
    rise = float(np.expm1(means[-1] - min(means)))
    if rise < gate.smallest_rise:
        return f"{gate.row} does not over-fit: its perplexity on dev rises by {100 * rise:.3g}% after its minimum"
    return ""
