"""Orders of growth print as the paper writes them."""

from aiayn.paper.order import Logarithm, Order


def test_powers_and_a_logarithm_are_one_product() -> None:
    """Every other form stands in Table 1, whose cells print as they stand in its file."""
    assert str(Order({"n": 1}, Logarithm("k", "n"))) == "O(n·log_k(n))"
