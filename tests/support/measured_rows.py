"""Rows of runs with stated scores, as they are measured."""

from collections.abc import Mapping

import numpy as np

from aiayn.evaluation.significance import Floats, Measurements, measure
from aiayn.reports.measured import MeasuredRows

DEVIATION = 0.01
"""Of log PPL between seeds: a difference of five against five seeds is significant from 0.0146 on."""


def seeds(mean: float, count: int = 5, deviation: float = DEVIATION) -> Floats:
    """Values with this mean and standard deviation."""
    if count == 1:
        return np.array([mean])
    spread = np.linspace(-1, 1, count)
    values: Floats = mean + deviation * spread / np.std(spread, ddof=1)
    return values


def measured_rows(
    ppl: Mapping[str, float],
    bleu: Mapping[str, float] | None = None,
    counts: Mapping[str, int] | None = None,
    deviation: float = DEVIATION,
) -> MeasuredRows:
    """Rows with these mean log PPL; 30 BLEU and five seeds unless stated."""
    if not ppl:
        return MeasuredRows(None, {})
    number = {row: (counts or {}).get(row, 5) for row in ppl}
    sentences = np.tile(np.array([42.0, 21, 20, 20, 12, 8, 5, 3, 20, 19, 18, 17]), (2, 1))
    found = measure([[sentences] * count for count in number.values()])
    scores = {row: (bleu or {}).get(row, 30.0) for row in ppl}
    return MeasuredRows(
        Measurements(
            found.ppl.with_compared([seeds(mean, number[row], deviation) for row, mean in ppl.items()]),
            found.bleu.with_compared([seeds(mean, number[row], 20 * deviation) for row, mean in scores.items()]),
        ),
        {row: n for n, row in enumerate(ppl)},
    )
