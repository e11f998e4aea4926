"""Whether runs meet the conditions without which they cannot test a claim, from their perplexities on dev."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import stdtr

from aiayn.evaluation.significance import Floats
from aiayn.paper.claims import Claim, Converged, Gate, OverFitting
from aiayn.reports.numbers import signed
from aiayn.reports.reported_runs import ReportedRun

Curve: TypeAlias = Mapping[int, float]
"""Perplexity on dev by optimizer step, of one run."""

Curves: TypeAlias = Mapping[str, Sequence[Curve]]
"""The curves of the finished runs of each row, by row."""


def curves_of(rows: Mapping[str, Sequence[ReportedRun]]) -> Curves:
    """The curves of the finished runs of some rows."""
    return {row: [run.entry.directory.validation_perplexities() for run in runs] for row, runs in rows.items()}


def failed_gate(claim: Claim, curves: Curves, base: str) -> str:
    """Why runs cannot test a claim, in words that name all rows that fail; empty if they can."""
    return "; ".join(filter(None, (_complaint(gate, claim, curves, base) for gate in claim.gates.values())))


def _complaint(gate: Gate, claim: Claim, curves: Curves, base: str) -> str:
    match gate:
        case Converged():
            rows = {row: curves.get(row, ()) for row in _gated_rows(claim, base)}
            return unconverged_reason(gate, rows, may_rise=_rows_that_may_rise(claim))
        case OverFitting():
            return _not_over_fitted_reason(gate, curves.get(gate.row, ()))


def _gated_rows(claim: Claim, base: str) -> Sequence[str]:
    return list(dict.fromkeys((base, *claim.rows)))


def _rows_that_may_rise(claim: Claim) -> frozenset[str]:
    return frozenset(each.row for each in claim.gates.values() if isinstance(each, OverFitting))


class RowFall(NamedTuple):
    """The share of its perplexity that a row loses over its last steps; negative if it rises.

    It is the geometric mean over the row's runs: single validations vary by about as much as a gate allows, and the
    more seeds there were, the more often the largest of their falls would exceed it.
    """

    mean: float
    """NaN if a run has an infinite perplexity there."""
    error: float | None
    """Standard error over the runs; None with one run, or without a finite mean."""

    @classmethod
    def of(cls, curves: Sequence[Curve], last_share: float) -> Self | None:
        """From the curves of a row's runs; None if one has no validation before these steps, or there is none."""
        changes = _last_changes(curves, last_share)
        if changes is None:
            return None
        known = len(changes) > 1 and np.isfinite(changes).all()
        error = float(np.exp(changes.mean()) * changes.std(ddof=1) / np.sqrt(len(changes))) if known else None
        return cls(float(-np.expm1(changes.mean())), error)


def unconverged_reason(gate: Converged, rows: Curves, *, may_rise: Collection[str] = ()) -> str:
    """Which rows have not converged, and by how much, in words; empty if all have.

    Args:
        gate: the definition of convergence.
        rows: the curves of the runs of each row.
        may_rise: rows that may over-fit; in others, perplexity must also rise by less than `largest_fall`.
    """
    falls = {row: RowFall.of(curves, gate.last_share) for row, curves in rows.items()}
    end = f"the last {gate.last_share:.0%} of steps"
    parts = [f"{row} has no perplexity on dev before {end}" for row, fall in falls.items() if fall is None]
    means = {row: fall.mean for row, fall in falls.items() if fall is not None}
    parts += [f"{row} has no finite perplexity on dev over {end}" for row, mean in means.items() if np.isnan(mean)]
    losing = {row: mean for row, mean in means.items() if mean >= gate.largest_fall}
    rising = {row: -mean for row, mean in means.items() if -mean >= gate.largest_fall and row not in may_rise}
    for verb, found in (("still falls", losing), ("rises", rising)):
        if found:
            by = " and ".join(f"{100 * share:.3g}% in {row}" for row, share in found.items())
            parts.append(f"perplexity {verb} over {end}, by {by} (limit {100 * gate.largest_fall:g}%)")
    return "; ".join(parts)


def convergence_remarks(claims: Sequence[Claim], curves: Curves, base: str) -> Iterator[str]:
    """How much perplexity the rows of each gate of convergence lose over their last steps, whether they pass or not."""
    for gate in dict.fromkeys(each for claim in claims for each in claim.gates.values() if isinstance(each, Converged)):
        gated = dict.fromkeys(
            row for claim in claims if gate in claim.gates.values() for row in _gated_rows(claim, base)
        )
        falls = {row: RowFall.of(curves.get(row, ()), gate.last_share) for row in gated}
        shown = [_fall_text(row, fall) for row, fall in falls.items() if fall is not None and np.isfinite(fall.mean)]
        if shown:
            yield (
                f"perplexity lost over the last {gate.last_share:.0%} of steps, limit {100 * gate.largest_fall:g}%, "
                f"with standard errors over seeds in brackets: {', '.join(shown)}"
            )


def _fall_text(row: str, fall: RowFall) -> str:
    error = "" if fall.error is None else f" ({100 * fall.error:.2f})"
    return f"{row} {signed(100 * fall.mean, 2).removeprefix('+')}%{error}"


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
            for row in _gated_rows(claim, base):
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
    changes = _last_changes(pilots, gate.last_share)
    if changes is None or len(changes) < 2 or not np.isfinite(changes).all():
        return None
    low, high = np.log1p(-gate.largest_fall), np.inf if may_rise else np.log1p(gate.largest_fall)
    spread = changes.std(ddof=1) * np.sqrt(1 / len(changes) + 1 / seeds)
    if not spread:
        return float(low < changes.mean() < high)
    below_high, below_low = stdtr(len(changes) - 1, (np.array([high, low]) - changes.mean()) / spread)
    return float(below_high - below_low)


def _last_changes(curves: Sequence[Curve], last_share: float) -> Floats | None:
    """The change of log PPL of each run over its last steps; None if one has no validation before, or there is none."""
    falls = [last_fall(curve, last_share) for curve in curves]
    return None if not falls or None in falls else np.log1p(-np.array(falls, dtype=np.float64))


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
