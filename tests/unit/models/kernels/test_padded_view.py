"""Flat and padded are two forms of one batch; pads and fillers reach nobody."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from aiayn.flat_tokens import Layout
from aiayn.models.kernels.padded_view import PaddedView

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=5)
FILLERS = st.integers(0, 5)
SHAPES = st.sampled_from([(), (3,), (2, 3)])
SEEDS = st.integers(0, 2**31)


def view_of(lengths: list[int], fillers: int) -> PaddedView:
    return PaddedView(Layout.of(lengths, fillers=fillers))


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def padded_naively(flat: Tensor, lengths: list[int]) -> Tensor:
    """One sentence at a time; pads are its last token, of which no gradient comes back."""
    rows, start = [], 0
    for length in lengths:
        own, start = flat[start : start + length], start + length
        rows.append(torch.cat([own, *[own[-1:].detach()] * (max(lengths) - length)]))
    return torch.stack(rows)


def flattened_naively(padded: Tensor, lengths: list[int]) -> Tensor:
    return torch.cat([row[:length] for row, length in zip(padded, lengths, strict=True)])


@given(LENGTHS, FILLERS, SHAPES, SEEDS)
def test_padding_is_a_loop_over_sentences_with_values_and_gradients(
    lengths: list[int], fillers: int, shape: tuple[int, ...], seed: int
) -> None:
    torch.manual_seed(seed)
    flat = drawn(sum(lengths) + fillers, *shape)
    padded, expected = view_of(lengths, fillers).pad(flat), padded_naively(flat, lengths)
    assert torch.equal(padded, expected)
    weights = torch.randn_like(padded)
    ours, theirs = (torch.autograd.grad((each * weights).sum(), flat)[0] for each in (padded, expected))
    assert torch.equal(ours, theirs)
    assert not ours[sum(lengths) :].any(), "fillers are not in the padded form"


@given(LENGTHS, FILLERS, SHAPES, SEEDS)
def test_flattening_is_a_loop_over_sentences_with_values_and_gradients(
    lengths: list[int], fillers: int, shape: tuple[int, ...], seed: int
) -> None:
    torch.manual_seed(seed)
    padded = drawn(len(lengths), max(lengths), *shape)
    flat, expected = view_of(lengths, fillers).flatten(padded), flattened_naively(padded, lengths)
    assert len(flat) == sum(lengths) + fillers
    assert torch.equal(flat[: sum(lengths)], expected)
    weights = torch.randn_like(flat)
    weights[sum(lengths) :] = torch.inf  # whatever becomes of fillers
    (ours,) = torch.autograd.grad(flat, padded, weights)
    (theirs,) = torch.autograd.grad(expected, padded, weights[: sum(lengths)])
    assert torch.equal(ours, theirs)


@given(LENGTHS, FILLERS, SHAPES, SEEDS)
def test_what_is_padded_and_flattened_is_what_it_was(
    lengths: list[int], fillers: int, shape: tuple[int, ...], seed: int
) -> None:
    torch.manual_seed(seed)
    view, flat = view_of(lengths, fillers), drawn(sum(lengths) + fillers, *shape)
    returned = view.flatten(view.pad(flat))
    assert returned.shape == flat.shape
    assert torch.equal(returned[: sum(lengths)], flat[: sum(lengths)])
    (gradient,) = torch.autograd.grad(returned.sum(), flat)
    is_filler = torch.arange(len(flat)) >= sum(lengths)
    assert torch.equal(gradient, torch.ones_like(flat).mul(~is_filler.view(-1, *[1] * len(shape))))
    ids = torch.randint(100, (len(flat),))
    assert torch.equal(view.flatten(view.pad(ids))[: sum(lengths)], ids[: sum(lengths)])


@given(LENGTHS, FILLERS)
def test_what_stands_at_pads_and_fillers_reaches_nobody(lengths: list[int], fillers: int) -> None:
    view = view_of(lengths, fillers)
    flat = torch.arange(sum(lengths) + fillers, dtype=torch.float64)
    flat[sum(lengths) :] = torch.inf
    assert view.pad(flat).isfinite().all()
    padded = torch.zeros(len(lengths), max(lengths)).masked_fill(~view.is_token, torch.inf)
    assert view.flatten(padded).isfinite().all()


@given(LENGTHS, FILLERS)
def test_the_mask_says_where_tokens_are(lengths: list[int], fillers: int) -> None:
    view = view_of(lengths, fillers)
    assert view.count == sum(lengths)
    assert view.is_token.tolist() == [[place < length for place in range(max(lengths))] for length in lengths]
    assert view.is_full == bool(view.is_token.all())
    if view.is_full:
        assert view.mask is None
    else:
        assert view.mask is not None
        assert torch.equal(view.mask, view.is_token)


@pytest.mark.parametrize("fillers", [0, 3])
@pytest.mark.parametrize("lengths", [[4, 4], [1], [3, 1, 2]])
def test_gradients_are_those_of_finite_differences(lengths: list[int], fillers: int) -> None:
    torch.manual_seed(0)
    view = view_of(lengths, fillers)
    flat, padded = drawn(sum(lengths) + fillers, 2), drawn(len(lengths), max(lengths), 2)
    assert torch.autograd.gradcheck(lambda each: view.pad(each)[view.is_token], flat)
    assert torch.autograd.gradcheck(lambda each: view.flatten(each)[: sum(lengths)], padded)


@pytest.mark.parametrize("lengths", [[4, 4], [1]])
def test_sentences_of_one_length_are_not_copied(lengths: list[int]) -> None:
    view, flat = view_of(lengths, 0), torch.randn(sum(lengths), 2)
    padded = view.pad(flat)
    assert flat.data_ptr() == padded.data_ptr() == view.flatten(padded).data_ptr()
