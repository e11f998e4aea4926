"""Exponents of a power law, with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from aiayn.evaluation.significance import CONFIDENCE


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval."""

    estimate: float
    low: float
    high: float


def fit_exponents(sizes: Sequence[Mapping[str, float]], values: Sequence[float]) -> dict[str, Estimate]:
    """Fit values = c * product of size^exponent by least squares in logarithms.

    Args:
        sizes: at each point the positive sizes by name, linearly independent in logarithms.
        values: positive; more of them than sizes and the constant.
    """
    names = list(sizes[0])
    columns = np.array([[1.0, *(np.log(point[name]) for name in names)] for point in sizes])
    freedom = len(values) - columns.shape[1]
    assert freedom > 0, "more points than unknowns"
    logarithms = np.log(np.asarray(values, dtype=np.float64))
    solution, _, rank, _ = np.linalg.lstsq(columns, logarithms, rcond=None)
    assert rank == columns.shape[1], "sizes that vary together have no separate exponents"
    residuals = logarithms - columns @ solution
    covariance = np.linalg.inv(columns.T @ columns) * float(residuals @ residuals) / freedom
    widths = stdtrit(freedom, (1 + CONFIDENCE) / 2) * np.sqrt(np.diag(covariance))
    return {
        name: Estimate(float(value), float(value - width), float(value + width))
        for name, value, width in zip(names, solution[1:], widths[1:], strict=True)
    }
