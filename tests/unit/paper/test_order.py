"""Orders of growth print as the paper writes them."""

import pytest

from aiayn.paper.order import Logarithm, Order, parse_order


@pytest.mark.parametrize(
    ("order", "text"),
    [
        (Order({"n": 2, "d": 1}), "O(n^2·d)"),
        (Order({"n": 1, "r": -1}), "O(n/r)"),
        (Order({}), "O(1)"),
        (Order({"n": 1}, Logarithm("k", "n")), "O(n·log_k(n))"),
    ],
)
def test_an_order_prints_its_powers_and_logarithm(order: Order, text: str) -> None:
    assert str(order) == text


def test_an_order_is_read_from_powers_and_a_logarithm() -> None:
    assert parse_order({"logarithm": {"base": "k", "of": "n"}}) == Order({}, Logarithm("k", "n"))
    assert parse_order({"powers": {"n": 2}}) == Order({"n": 2})
