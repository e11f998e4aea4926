"""Exponents of a power law, with their intervals."""

from collections.abc import Mapping, Sequence

import numpy as np

from aiayn.evaluation.significance import NORMAL_QUANTILE, Estimate

QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Of Student's t at 97.5%, for 1 to 10 degrees of freedom."""


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
    quantile = QUANTILES[freedom - 1] if freedom <= len(QUANTILES) else NORMAL_QUANTILE + 2.4 / freedom
    widths = quantile * np.sqrt(np.diag(covariance))
    return {
        name: Estimate(float(value), float(value - width), float(value + width))
        for name, value, width in zip(names, solution[1:], widths[1:], strict=True)
    }
