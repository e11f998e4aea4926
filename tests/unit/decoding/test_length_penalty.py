import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.decoding.length_penalty import LengthPenalty, length_penalty

LENGTHS = st.integers(min_value=1, max_value=500)
ALPHAS = st.floats(min_value=0, max_value=10)
KINDS = st.sampled_from(get_args(LengthPenalty))


@given(length=LENGTHS, alpha=ALPHAS)
def test_logarithm_is_linear_in_alpha(length: int, alpha: float) -> None:
    bases: dict[LengthPenalty, float] = {"gnmt": (5 + length) / 6, "power": length}
    for kind, base in bases.items():
        penalty = length_penalty(length, alpha=alpha, kind=kind)
        assert math.log(penalty) == pytest.approx(alpha * math.log(base), abs=1e-9)


@given(length=LENGTHS, alpha=ALPHAS, kind=KINDS)
def test_never_falls_with_length_and_starts_at_one(length: int, alpha: float, kind: LengthPenalty) -> None:
    assert length_penalty(1, alpha=alpha, kind=kind) == 1
    assert length_penalty(length + 1, alpha=alpha, kind=kind) >= length_penalty(length, alpha=alpha, kind=kind)


@given(length=LENGTHS, log_probability=st.floats(-500, 0))
def test_alpha_zero_is_no_penalty_and_power_one_is_the_mean(length: int, log_probability: float) -> None:
    assert {length_penalty(length, alpha=0, kind=kind) for kind in get_args(LengthPenalty)} == {1}
    assert length_penalty(length, alpha=1, kind="gnmt") == pytest.approx((5 + length) / 6)
    mean = log_probability / length_penalty(length, alpha=1, kind="power")
    assert mean == pytest.approx(log_probability / length)
