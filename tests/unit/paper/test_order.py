"""Orders of growth print as the paper writes them and grow as they say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.paper.order import Logarithm, Order, parse_order

SIZES = st.fixed_dictionaries({name: st.integers(2, 10_000) for name in "ndkr"})
POWERS = st.dictionaries(st.sampled_from("ndkr"), st.integers(-2, 3).filter(bool))


@given(powers=POWERS, sizes=SIZES, name=st.sampled_from("ndkr"))
def test_a_size_doubled_multiplies_by_two_to_its_power(
    powers: dict[str, int], sizes: dict[str, int], name: str
) -> None:
    order = Order(powers)
    doubled = order.evaluate({**sizes, name: 2 * sizes[name]})
    assert doubled == pytest.approx(order.evaluate(sizes) * 2.0 ** powers.get(name, 0))


@given(base=st.integers(2, 9), exponent=st.integers(1, 9))
def test_a_logarithm_counts_how_often_the_base_fits(base: int, exponent: int) -> None:
    order = parse_order({"logarithm": {"base": "k", "of": "n"}})
    assert order.evaluate({"k": base, "n": base**exponent}) == pytest.approx(exponent)


@given(powers=POWERS, has_logarithm=st.booleans(), sizes=SIZES)
def test_what_is_printed_means_what_is_evaluated(
    powers: dict[str, int], has_logarithm: bool, sizes: dict[str, int]
) -> None:
    order = Order(powers, Logarithm("k", "n") if has_logarithm else None)
    text = str(order).removeprefix("O").replace("^", "**").replace("·", "*").replace("log_k(n)", "log")
    value = eval(text, {"log": math.log(sizes["n"], sizes["k"]), **sizes})
    assert order.evaluate(sizes) == pytest.approx(value)


@pytest.mark.parametrize("order", [Order({"n": 1, "r": -1}), Order({}, Logarithm("r", "n"))])
def test_a_missing_size_is_named(order: Order) -> None:
    assert order.sizes == {"n", "r"}
    with pytest.raises(ValueError, match=r"needs a value of r$"):
        order.evaluate({"n": 8, "d": 4})
