"""Equation 3: a linear rise to the peak at the warm-up's end, then the inverse square root of the step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.training.schedule import learning_rate

steps = st.integers(1, 10**6)
widths = st.integers(1, 4096)
warmups = st.integers(1, 10**5)
factors = st.floats(1e-3, 1e3)


@given(steps, widths, warmups, factors)
def test_equation_3(step: int, d_model: int, warmup: int, factor: float) -> None:
    rise, fall = step * warmup**-1.5, step**-0.5
    rate = learning_rate(step, d_model=d_model, warmup_steps=warmup, factor=factor)
    assert rate == pytest.approx(factor / d_model**0.5 * min(rise, fall))
    assert rate > 0


@given(steps, widths, warmups)
def test_the_peak_is_at_the_end_of_the_warm_up(step: int, d_model: int, warmup: int) -> None:
    peak = learning_rate(warmup, d_model=d_model, warmup_steps=warmup)
    rate = learning_rate(step, d_model=d_model, warmup_steps=warmup)
    assert rate < peak or step == warmup or rate == pytest.approx(peak, rel=1e-4)
    assert rate <= peak * (1 + 1e-12)
