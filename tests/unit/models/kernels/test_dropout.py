"""Dropout's masks are fair, fresh, and a function of the generator's state alone."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.models.kernels.dropout import LEVELS, Dropout

probabilities = st.floats(0.0, 0.99)


@given(probabilities, st.integers(0, 2**31), st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_values_are_dropped_or_scaled_and_gradients_follow(probability: float, seed: int, shape: list[int]) -> None:
    torch.manual_seed(seed)
    dropout = Dropout(probability)
    values = torch.rand(shape, dtype=torch.float64).add_(1).requires_grad_()
    result = dropout(values)
    kept = result != 0
    scale = LEVELS / (LEVELS - round(probability * LEVELS))
    torch.testing.assert_close(result, values * kept * scale)
    assert scale == pytest.approx(1 / (1 - probability), rel=1e-3)
    weights = torch.rand(shape, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((result * weights).sum(), values)
    torch.testing.assert_close(gradient, weights * kept * scale)


@given(probabilities, st.integers(0, 2**31))
def test_adding_is_the_sum(probability: float, seed: int) -> None:
    dropout, summand = Dropout(probability), Dropout(probability, is_summand=True)
    states, values = (torch.randn(5, 7, dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.manual_seed(seed)
    added = states + summand(values)
    torch.manual_seed(seed)
    expected = states + dropout(values)
    torch.testing.assert_close(added, expected)
    weights = torch.randn(5, 7, dtype=torch.float64)
    torch.testing.assert_close(
        torch.autograd.grad((added * weights).sum(), (states, values)),
        torch.autograd.grad((expected * weights).sum(), (states, values)),
    )


@pytest.mark.parametrize("probability", [0.01, 0.1, 0.5, 0.9])
def test_the_share_of_dropped_values_is_the_probability(probability: float) -> None:
    torch.manual_seed(7)
    draws = 1_000_003  # no multiple of the four draws in a random word
    dropped = int((Dropout(probability)(torch.ones(draws)) == 0).sum())
    deviation = math.sqrt(draws * probability * (1 - probability))
    assert abs(dropped - draws * probability) < 5 * deviation + draws / LEVELS


def test_draws_are_independent_of_their_neighbours() -> None:
    """Four of them come from one random word."""
    torch.manual_seed(8)
    dropped = (Dropout(0.5)(torch.ones(1_000_000)) == 0).double()
    for distance in range(1, 9):
        agreement = float((dropped[:-distance] == dropped[distance:]).double().mean())
        assert abs(agreement - 0.5) < 0.003  # six standard deviations


@settings(max_examples=10)
@given(st.integers(0, 2**31))
def test_masks_follow_from_the_seed_and_differ_from_call_to_call(seed: int) -> None:
    dropout, values = Dropout(0.3), torch.ones(300)
    torch.manual_seed(seed)
    first, second = dropout(values), dropout(values)
    torch.manual_seed(seed)
    assert torch.equal(dropout(values), first)
    assert not torch.equal(first, second)


def test_nothing_is_dropped_where_nothing_should_be() -> None:
    values = torch.rand(50)
    assert Dropout(0.9).eval()(values) is values
    assert Dropout(0.0)(values) is values
    assert torch.equal(values + Dropout(0.9, is_summand=True).eval()(values), 2 * values)


def test_a_summand_serves_only_for_a_sum() -> None:
    with pytest.raises(AssertionError):
        torch.ones(3) * Dropout(0.5, is_summand=True)(torch.ones(3))
