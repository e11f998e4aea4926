"""Numbers in reports have as many digits as their spread gives meaning to."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aiayn.reports.numbers import MOST_DECIMALS, approximate_time, decimals_for

UNITS = {"d": 86400, "h": 3600, "min": 60, "s": 1}


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=9), st.integers(0, 3))
def test_the_median_deviation_has_a_digit(deviations: list[float], fewest: int) -> None:
    decimals = decimals_for([*deviations, None, math.nan, 0.0], fewest)
    assert fewest <= decimals <= MOST_DECIMALS
    middle = sorted(deviations)[len(deviations) // 2]
    if len(deviations) % 2:
        assert float(f"{middle:.{decimals}f}") > 0
        assert decimals == fewest or middle < 10.0 ** (1 - decimals)


@pytest.mark.parametrize(
    ("deviations", "decimals"),
    [([], 2), ([None, 0.0], 2), ([8e-16], 2), ([8e-16, 0.003], 3), ([0.2], 2), ([0.003], 3), ([0.0004], 4)],
)
def test_without_a_deviation_to_show_there_are_the_fewest_digits(deviations: list[float | None], decimals: int) -> None:
    assert decimals_for(deviations, 2) == decimals


@given(st.floats(10, 1e9))
@example(99.5 * 86400)
@example(99.99 * 86400)
def test_an_approximate_time_is_near_and_has_no_exponent(seconds: float) -> None:
    amount, unit = approximate_time(seconds).split()
    assert "e" not in amount
    assert abs(float(amount.replace(",", "")) * UNITS[unit] / seconds - 1) <= 0.05 + 1e-9
