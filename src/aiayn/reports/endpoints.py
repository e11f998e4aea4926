"""The log PPL that studies compare: the end of a run's validation curve, and what its course would lead to.

A single validation varies by about as much as the smallest effects of Table 3, so that the mean of the last ones is
compared. Whether a difference is closing is read from the straight line over ln(step) through the second half of a
curve: a difference that the lines no longer show at one and a half times the budget may be one of speed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from aiayn.evaluation.significance import Floats
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.reported_runs import ReportedRun

VALIDATIONS = 3
"""The last validations whose mean is compared; forty validations of a run make them the last 8% of its steps."""

PROJECTED = 1.5
"""The multiple of the budget at which a closing difference no longer excludes 0."""

Curve: TypeAlias = Mapping[int, float]
"""Perplexity on dev by optimizer step, of one run."""

Functional: TypeAlias = Callable[[Sequence[int]], Floats]
"""Weights [validations] of log PPL at the steps of a run's validations, in order."""


def endpoint_weights(steps: Sequence[int]) -> Floats:
    """The mean of the last validations; of all where there are fewer."""
    weights = np.zeros(len(steps))
    weights[-VALIDATIONS:] = 1 / min(VALIDATIONS, len(steps))
    return weights


def projection_weights(steps: Sequence[int]) -> Floats:
    """The value at `PROJECTED` times the last step of the line over ln(step) through those after half of it.

    NaN with fewer than three of them.
    """
    weights, logs = np.zeros(len(steps)), np.log(steps)
    is_late = np.array(steps) > steps[-1] / 2
    if is_late.sum() < VALIDATIONS:
        return np.full(len(steps), np.nan)
    late = logs[is_late]
    distance = np.log(PROJECTED * steps[-1]) - late.mean()
    weights[is_late] = 1 / len(late) + distance * (late - late.mean()) / ((late - late.mean()) ** 2).sum()
    return weights


def value_of(functional: Functional, curve: Curve, steps: int | None = None) -> float:
    """A functional of the log PPL of a curve, up to a step; NaN without a validation before it."""
    known = sorted(step for step in curve if steps is None or step <= steps)
    if not known:
        return float("nan")
    with np.errstate(invalid="ignore"):
        weights = functional(known)
        terms = weights * np.log([curve[step] for step in known])
    return float(terms[weights != 0].sum())  # an early perplexity without a finite value spoils none


def at(
    rows: MeasuredRows,
    runs: Mapping[str, Sequence[ReportedRun]],
    functional: Functional,
    steps: int | Mapping[str, int] | None = None,
) -> MeasuredRows:
    """The measurements with a functional of the runs' curves in the place of log PPL.

    The influences of sentences stay those of the final evaluation, since no other one has scores of sentences.

    Args:
        rows: the measurements of the final evaluation.
        runs: of each row.
        functional: as in `endpoint_weights`.
        steps: the budget, of all rows or by row, after which validations are left out; None, or no budget of a row: all
            steps.
    """
    if rows.measured is None:
        return rows
    values = []
    for row in rows.places:
        budget = steps.get(row) if isinstance(steps, Mapping) else steps
        curves = [run.entry.directory.validation_perplexities() for run in runs[row]]
        values.append(np.array([value_of(functional, curve, budget) for curve in curves]))
    return replace(rows, measured=replace(rows.measured, ppl=rows.measured.ppl.with_compared(values)))
