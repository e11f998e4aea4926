import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.decoding.length_penalty import length_penalty

LENGTHS = st.integers(min_value=1, max_value=500)
ALPHAS = st.floats(min_value=0, max_value=10)


@given(length=LENGTHS, alpha=ALPHAS)
def test_logarithm_is_linear_in_alpha(length: int, alpha: float) -> None:
    assert math.log(length_penalty(length, alpha=alpha)) == pytest.approx(alpha * math.log((5 + length) / 6), abs=1e-9)


@given(length=LENGTHS, alpha=ALPHAS)
def test_never_falls_with_length_and_starts_at_one(length: int, alpha: float) -> None:
    assert length_penalty(1, alpha=alpha) == 1
    assert length_penalty(length + 1, alpha=alpha) >= length_penalty(length, alpha=alpha)


@given(length=LENGTHS)
def test_alpha_zero_is_no_penalty_and_alpha_one_is_linear(length: int) -> None:
    assert length_penalty(length, alpha=0) == 1
    assert length_penalty(length, alpha=1) == pytest.approx((5 + length) / 6)
