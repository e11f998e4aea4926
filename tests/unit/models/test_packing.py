"""Packed and padded are two forms of one batch; what stands at pads reaches nobody."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from aiayn.models.packing import Packing

lengths = st.lists(st.integers(1, 6), min_size=1, max_size=5)
multiples = st.integers(1, 8)


def padded_batch(lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Numbers `[batch, length, 3]` with infinity at the pads, and where they are real."""
    is_real = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    values = torch.arange(is_real.numel() * 3, dtype=torch.float64).view(*is_real.shape, 3)
    return values.masked_fill(~is_real.unsqueeze(-1), torch.inf), is_real


@given(lengths, multiples)
def test_packed_are_the_real_positions_in_order_and_come_back_to_their_places(
    lengths: list[int], multiple: int
) -> None:
    padded, is_real = padded_batch(lengths)
    packing = Packing.of(is_real, multiple=multiple)
    packed = packing.pack(padded)
    assert len(packed) == -(-sum(lengths) // multiple) * multiple
    assert torch.equal(packed[: sum(lengths)], padded[is_real])
    returned = packing.unpack(packed)
    assert returned.shape == padded.shape
    assert torch.equal(returned[is_real], padded[is_real])
    assert returned.isfinite().all()


@given(lengths, multiples)
def test_columns_and_mask_say_what_is_where(lengths: list[int], multiple: int) -> None:
    _, is_real = padded_batch(lengths)
    packing = Packing.of(is_real, multiple=multiple)
    if is_real.all():
        assert packing.mask is None
    else:
        assert packing.mask is not None
        assert torch.equal(packing.mask[:, 0, 0], is_real)
    columns = packing.columns()
    if columns is not None:
        assert columns[: sum(lengths)].tolist() == [column for length in lengths for column in range(length)]
    else:
        assert is_real.all()


@given(lengths, multiples)
def test_nothing_is_predicted_at_fillers(lengths: list[int], multiple: int) -> None:
    _, is_real = padded_batch(lengths)
    targets = torch.arange(1, is_real.numel() + 1).view(is_real.shape) * is_real
    packed = Packing.of(is_real, multiple=multiple).pack_targets(targets, pad_id=0)
    assert packed[packed != 0].tolist() == targets[is_real].tolist()
    assert not packed[sum(lengths) :].any()


@given(lengths, multiples, st.integers(0, 2**31))
def test_gradients_are_those_of_plain_indexing(lengths: list[int], multiple: int, seed: int) -> None:
    _, is_real = padded_batch(lengths)
    generator = torch.Generator().manual_seed(seed)
    padded = torch.randn(*is_real.shape, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(*is_real.shape, 3, generator=generator, dtype=torch.float64)
    packing = Packing.of(is_real, multiple=multiple)
    (ours,) = torch.autograd.grad((packing.pack(padded)[: sum(lengths)] * weights[is_real]).sum(), padded)
    assert torch.equal(ours, weights * is_real.unsqueeze(-1))

    packed = packing.pack(padded).detach().requires_grad_()
    (ours,) = torch.autograd.grad((packing.unpack(packed) * weights * is_real.unsqueeze(-1)).sum(), packed)
    assert torch.equal(ours[: sum(lengths)], weights[is_real])
    assert not ours[sum(lengths) :].any()


@pytest.mark.parametrize("lengths", [[4, 4], [1], [3, 1, 2]])
def test_where_pads_are_kept_both_ways_are_views(lengths: list[int]) -> None:
    """As on devices that would have to be waited for."""
    padded, is_real = padded_batch(lengths)
    packing = Packing(len(lengths), max(lengths), is_real)
    packed = packing.pack(padded)
    assert packed.data_ptr() == padded.data_ptr() == packing.unpack(packed).data_ptr()
    assert torch.equal(packing.unpack(packed), padded)
