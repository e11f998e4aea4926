import pytest
import torch

from aiayn.extensions.layers.layer_costs import operations, path_length, sequential_operations
from aiayn.extensions.layers.layer_types import (
    BareConvolution,
    BareRecurrence,
    BareRestrictedAttention,
    BareSelfAttention,
)


def test_the_recurrence_that_is_counted_is_the_kernel_that_is_timed() -> None:
    torch.manual_seed(0)
    layer, states = BareRecurrence(5).double(), torch.randn(2, 7, 5, dtype=torch.float64)
    torch.testing.assert_close(layer(states), layer.kernel(states)[0], rtol=0, atol=1e-12)


def test_operations_are_those_of_the_products_by_hand() -> None:
    n, d, k = 12, 4, 3
    assert operations(BareSelfAttention(), n=n, d=d) == 2 * (2 * n * n * d)
    assert operations(BareRecurrence(d), n=n, d=d) == n * 2 * (2 * d * d)
    assert operations(BareConvolution(d, kernel_size=k), n=n, d=d) == 2 * k * n * d * d
    reach = 2  # each position's block of 3 * reach positions
    assert operations(BareRestrictedAttention(neighbourhood=2 * reach), n=n, d=d) == 2 * (2 * n * 3 * reach * d)


@pytest.mark.parametrize("n", [2, 9, 30])
def test_sequential_operations(n: int) -> None:
    assert sequential_operations(BareSelfAttention(), n=n, d=4) == 2
    assert sequential_operations(BareRecurrence(4), n=n, d=4) == n
    assert sequential_operations(BareConvolution(4, kernel_size=3), n=n, d=4) == 1


@pytest.mark.parametrize("n", [2, 5, 9, 27, 28])
def test_path_lengths_are_those_of_a_search_without_gradients(n: int) -> None:
    def rounds(hears_from: int, *, factor: int = 1) -> int:
        """Rounds until the last position knows of the first, where one hears from `hears_from` positions back."""
        known, count = 0, 0
        while known < n - 1:
            known, count = known + hears_from * factor**count, count + 1
        return count

    layers = {
        BareSelfAttention(): 1,
        BareRecurrence(4).double(): n,
        BareConvolution(4, kernel_size=3).double(): rounds(2, factor=3),
        BareRestrictedAttention(neighbourhood=6): rounds(3),
    }
    for layer, expected in layers.items():
        assert path_length(layer, n=n, d=4) == expected, layer
