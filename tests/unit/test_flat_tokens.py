"""Sentences end to end, and where each of them is."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.flat_tokens import FlatTokens, Layout

SENTENCES = st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=6), min_size=1, max_size=5)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 5))
def test_a_layout_says_where_every_token_stands(lengths: list[int], fillers: int) -> None:
    layout = Layout.of(lengths, fillers=fillers)
    assert layout.positions.dtype == torch.int64
    places = [place for length in lengths for place in range(length)]
    assert layout.positions.tolist() == places + [0] * fillers, "all below the longest sentence's end"
    assert layout.offsets.dtype == torch.int32
    assert layout.offsets.diff().tolist() == [*lengths, fillers]
    assert int(layout.offsets[0]) == 0
    assert (layout.sentences, layout.longest, layout.fillers) == (len(lengths), max(lengths), fillers)


@given(SENTENCES)
def test_sentences_follow_one_another_without_pads(sentences: list[list[int]]) -> None:
    tokens = FlatTokens.of(sentences)
    assert tokens.ids.dtype == torch.int64
    assert tokens.layout.fillers == 0
    each = torch.split(tokens.ids, tokens.layout.offsets.diff().tolist())
    assert [ids.tolist() for ids in each] == [*sentences, []]


@given(SENTENCES)
def test_every_tensor_is_changed_and_the_sizes_stay(sentences: list[list[int]]) -> None:
    tokens = FlatTokens.of(sentences)
    changed = tokens.changed(lambda tensor: tensor + 1)
    assert torch.equal(changed.ids, tokens.ids + 1)
    assert torch.equal(changed.layout.positions, tokens.layout.positions + 1)
    assert torch.equal(changed.layout.offsets, tokens.layout.offsets + 1)
    assert changed.layout[2:] == tokens.layout[2:]


@pytest.mark.parametrize("device", ["meta", torch.device("meta")])
def test_moving_to_a_device_moves_every_tensor(device: str | torch.device) -> None:
    ids, (positions, offsets, *sizes) = FlatTokens.of([[3, 4], [5]]).to(device)
    assert {each.device.type for each in (ids, positions, offsets)} == {"meta"}
    assert sizes == [2, 2, 0]
