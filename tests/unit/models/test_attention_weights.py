"""The weights that are shown are those that the model computes with."""

import pickle
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import build, chosen, filled, sentences
from torch import Tensor, nn

from aiayn.models.attention_weights import attention_weights
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.kernels.sentence_context import SentenceContext
from aiayn.models.multi_head_attention import CrossAttention, SelfAttention

LENGTHS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre"},
        {"positions": "learned"},
        {"d_k": 3, "d_v": 5},
        {"projection_bias": True, "num_layers": 3, "num_heads": 1},
        {"dropout": 0.5},
        {"attention": "additive"},
        {"attention": "concat"},
        {"attention": "general"},
        {"attention": "restricted", "neighbourhood": 4},
        {"positions": "rotary"},
    ],
    ids=str,
)
def test_a_model_that_weighs_by_them_says_the_same(changes: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model = build(**changes).eval()
    source, target_input = sentences(5, 3, 1), sentences(2, 6, 4)
    weights = attention_weights(model, source, target_input)
    with torch.no_grad():
        expected = model(source, target_input)
    pairs = [each for layer in zip(weights.decoder, weights.cross, strict=True) for each in layer]
    in_turn = iter([*weights.encoder, *pairs])

    def weigh(attention: nn.Module, arguments: tuple[Any, ...], _: Tensor) -> Tensor:
        assert isinstance(attention, SelfAttention | CrossAttention)
        context = arguments[1]
        assert isinstance(context, SentenceContext)
        _, seen = attention.heads(*arguments)
        heads = next(in_turn) @ context.keys.pad(seen.values).transpose(1, 2)
        result: Tensor = attention.output(context.queries.flatten(heads.transpose(1, 2)).flatten(1))
        return result

    for module in model.modules():
        if isinstance(module, SelfAttention | CrossAttention):
            module.register_forward_hook(weigh)
    with torch.no_grad():
        result = model(source, target_input)
    assert next(in_turn, None) is None, "every weight has been used"
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-5)


@given(LENGTHS, st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_rows_are_shares_of_what_may_be_seen(lengths: list[tuple[int, int]], seed: int) -> None:
    torch.manual_seed(seed)
    model = build().eval()
    source, target_input = (sentences(*side) for side in zip(*lengths, strict=True))
    weights = attention_weights(model, source, target_input)
    own, other = (PaddedView(side.layout).is_token for side in (source, target_input))
    for each, (queries, keys) in zip(weights, [(own, own), (other, other), (other, own)], strict=True):
        layers, batch, heads = each.shape[:3]
        assert (layers, batch, heads) == (2, len(lengths), 4)
        is_seen = (queries[:, :, None] & keys[:, None, :])[None, :, None].expand_as(each)
        assert bool((each[~is_seen] == 0).all()), "pads are not seen and see nothing"
        sums = queries[None, :, None].expand(layers, batch, heads, -1).float()
        torch.testing.assert_close(each.sum(dim=-1), sums, rtol=0, atol=1e-6)
    assert bool((weights.decoder.triu(1) == 0).all()), "nothing that comes later is seen"
    assert not bool((weights.encoder.triu(1) == 0).all()) or source.layout.longest == 1


def test_neighbours_and_fillers_change_nothing() -> None:
    torch.manual_seed(0)
    model = build(norm="pre", positions="learned").eval()
    lengths = [(5, 2), (3, 6), (1, 1)]
    source, target_input = (sentences(*side) for side in zip(*lengths, strict=True))
    together = attention_weights(model, filled(source, 3), filled(target_input, 4))
    for row, (source_len, target_len) in enumerate(lengths):
        alone = attention_weights(model, chosen(source, [row]), chosen(target_input, [row]))
        sizes = [(source_len, source_len), (target_len, target_len), (target_len, source_len)]
        for one, all_of_them, (queries, keys) in zip(alone, together, sizes, strict=True):
            torch.testing.assert_close(one[:, 0], all_of_them[:, row, :, :queries, :keys], rtol=0, atol=1e-6)


def test_the_model_is_left_as_it_was() -> None:
    model = build(max_positions=4, positions="learned").eval()
    attention_weights(model, sentences(3), sentences(2))
    with pytest.raises(Exception, match="max_positions"):
        attention_weights(model, sentences(5), sentences(2))
    pickle.dumps(model)  # which a hook that is left would prevent
