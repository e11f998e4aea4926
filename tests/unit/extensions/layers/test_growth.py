import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.extensions.layers.growth import fit_exponents

POINTS = [{"n": n, "d": d} for n in (8.0, 16.0, 64.0) for d in (4.0, 32.0)]


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0.01, 100))
def test_a_power_law_is_found_exactly(of_n: float, of_d: float, constant: float) -> None:
    values = [constant * point["n"] ** of_n * point["d"] ** of_d for point in POINTS]
    found = fit_exponents(POINTS, values)
    for name, expected in (("n", of_n), ("d", of_d)):
        assert found[name].estimate == pytest.approx(expected, abs=1e-9)
        assert found[name].high - found[name].low < 1e-9


@settings(max_examples=1)
@given(st.integers(0, 2**32 - 1))
def test_intervals_hold_what_they_promise(seed: int) -> None:
    generator = np.random.default_rng(seed)
    held, trials = 0, 1000
    for _ in range(trials):
        noise = np.exp(generator.normal(scale=0.3, size=len(POINTS)))
        values = [point["n"] ** 2 * factor for point, factor in zip(POINTS, noise, strict=True)]
        found = fit_exponents(POINTS, values)["n"]
        held += found.low <= 2 <= found.high
    assert abs(held / trials - 0.95) < 5 * (0.95 * 0.05 / trials) ** 0.5


def test_sizes_that_vary_together_are_not_told_apart() -> None:
    with pytest.raises(AssertionError, match="no separate exponents"):
        fit_exponents([{"n": float(n), "d": float(n)} for n in (1, 2, 3, 4)], [1.0, 2.0, 3.0, 4.0])
