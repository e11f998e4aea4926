from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.kernels.matmul import Projection, linear, packed


@pytest.mark.parametrize("shape", [(5, 12), (2, 3, 12), (2, 0, 12), (12,)])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_equals_that_of_torch(shape: tuple[int, ...], with_bias: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    states, weight = torch.randn(shape, dtype=dtype), torch.randn(7, 12, dtype=dtype)
    bias = torch.randn(7, dtype=dtype) if with_bias else None
    with torch.no_grad():
        torch.testing.assert_close(linear(states, weight, bias), F.linear(states, weight, bias))


def test_views_are_multiplied_as_they_lie() -> None:
    states, weight = torch.randn(6, 9, 5)[:, ::2].transpose(0, 1), torch.randn(5, 8).t()
    with torch.inference_mode():
        torch.testing.assert_close(linear(states, weight), F.linear(states, weight))


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda numbers: numbers.view(20, 32),
    "columns": lambda numbers: numbers.view(32, 20).t(),
    "slices": lambda numbers: numbers.view(20, 32)[:, 3:17],
    "repeated": lambda numbers: numbers[:32].expand(20, 32),
    "windows": lambda numbers: numbers.unfold(0, 32, 8),
    "one row": lambda numbers: numbers[:32].view(1, 32),
}
"""Matrices of 640 numbers that lie differently in memory."""


@pytest.mark.parametrize("out", [3, 200])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_torch(layout: str, out: int) -> None:
    torch.manual_seed(0)
    states = LAYOUTS[layout](torch.randn(640)).requires_grad_()
    projection = Projection(states.shape[1], out)
    torch.autograd.backward(projection(states).square().sum())
    found = [each.grad for each in (states, *projection.parameters())]
    for each in (states, *projection.parameters()):
        each.grad = None
    torch.autograd.backward(F.linear(states, projection.weight, projection.bias).square().sum())
    for gradient, each in zip(found, (states, *projection.parameters()), strict=True):
        torch.testing.assert_close(gradient, each.grad, rtol=1e-5, atol=1e-4)


def test_autocast_is_obeyed() -> None:
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(torch.randn(3, 6), torch.randn(4, 6)).dtype == torch.bfloat16


def test_packed_matrices_are_the_same_until_they_are_let_go() -> None:
    torch.manual_seed(0)
    first, second = Projection(12, 7), Projection(7, 5, bias=False)
    states = torch.randn(3, 12)
    expected = F.linear(F.linear(states, first.weight, first.bias), second.weight)
    with torch.inference_mode(), packed(first):
        with packed(nn.Sequential(first, second)):
            torch.testing.assert_close(second(first(states)), expected)
        torch.testing.assert_close(second(first(states)), expected)
    with torch.no_grad():
        first.weight.zero_()
        torch.testing.assert_close(first(states), first.bias.expand(3, -1))


def test_packed_matrices_do_not_stand_in_the_way_of_training() -> None:
    projection = Projection(12, 7)
    with packed(projection):
        torch.autograd.backward(projection(torch.randn(3, 12)).sum())
    assert projection.weight.grad is not None
