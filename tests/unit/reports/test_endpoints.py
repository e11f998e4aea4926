"""The end of a curve is the mean of its last validations, and what it leads to is the line through its second half."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.paper.claims import Metric
from aiayn.reports.endpoints import PROJECTED, at, endpoint_weights, projection_weights, value_of
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.reported_runs import ReportedRun, finished_run

curves = st.dictionaries(st.integers(1, 10_000), st.floats(1.0, 1e3), min_size=1, max_size=40)


@given(curves, st.integers(1, 10_000))
def test_the_endpoint_is_the_mean_of_the_last_three_validations_of_a_budget(
    curve: dict[int, float], budget: int
) -> None:
    for steps in (None, budget):
        known = sorted(step for step in curve if steps is None or step <= steps)
        logs = [math.log(curve[step]) for step in known[-3:]]
        found = value_of(endpoint_weights, curve, steps)
        assert found == pytest.approx(sum(logs) / len(logs)) if logs else math.isnan(found)


@given(curves)
def test_the_projection_is_the_least_squares_line_over_the_logarithm_of_the_step(curve: dict[int, float]) -> None:
    last = max(curve)
    late = sorted(step for step in curve if step > last / 2)
    found = value_of(projection_weights, curve)
    if len(late) < 3:
        assert math.isnan(found)
    else:
        line = np.polyfit(np.log(late), np.log([curve[step] for step in late]), 1)
        assert found == pytest.approx(np.polyval(line, math.log(PROJECTED * last)), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("curve", "endpoint", "projection"),
    [
        ({}, math.nan, math.nan),
        ({100: math.inf, 500: 1.0, 600: 1.0, 800: 1.0, 1000: 1.0}, 0.0, 0.0),  # step 500 is not after half of 1,000
        ({500: math.inf, 600: 1.0, 800: 1.0, 1000: 1.0}, 0.0, 0.0),
        ({500: 1.0, 800: 1.0, 1000: 1.0}, 0.0, math.nan),
        ({600: 1.0, 800: 1.0, 1000: math.inf}, math.inf, math.nan),
    ],
)
def test_only_the_validations_that_count_have_to_exist_and_be_finite(
    curve: Mapping[int, float], endpoint: float, projection: float
) -> None:
    assert value_of(endpoint_weights, curve) == pytest.approx(endpoint, nan_ok=True)
    assert value_of(projection_weights, curve) == pytest.approx(projection, nan_ok=True) or math.isinf(endpoint)


def test_rows_are_compared_at_their_endpoints_and_bleu_stays(make_run: Callable[..., Path]) -> None:
    def made(row: str, seed: int, level: float) -> ReportedRun:
        curve = {step: math.exp(level + 0.1 * seed + step / 1e5) for step in range(100, 1100, 100)}
        found = finished_run(make_run(row, seed=seed, nll=9.9, curve=curve))
        assert found is not None
        return found

    runs = {"base": [made("base", n, 1.0) for n in (1, 2)], "d_ls0": [made("d_ls0", n, 0.5) for n in (1, 2)]}
    whole = MeasuredRows.of(runs)
    for steps, ppl in ((None, 0.009), (600, 0.005)):
        found = at(whole, runs, endpoint_weights, steps)
        assert found.compared(Metric.ppl) == pytest.approx({"base": 1.15 + ppl, "d_ls0": 0.65 + ppl})
        assert found.compared(Metric.bleu) == whole.compared(Metric.bleu)
        noise = found.by(Metric.ppl).noise
        assert noise is not None
        assert noise.deviation == pytest.approx(0.1 / math.sqrt(2))
    empty = MeasuredRows(None, {})
    assert at(empty, {}, endpoint_weights) is empty
