"""Properties of single variants of the Transformer; those of all are in test_translation_models.py."""

from typing import Any

import pytest
import torch
from tiny_models import build, sentences
from torch import Tensor

from aiayn.flat_tokens import FlatTokens, Layout
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.kernels.sentence_context import SentenceContext
from aiayn.models.layers import FeedForward
from aiayn.models.multi_head_attention import SelfAttention
from aiayn.models.positions import sinusoids
from aiayn.models.transformer import Transformer
from aiayn.models.variants.positions import RotaryPositions, sinusoids_in_blocks

BOS = 1


def test_without_positions_a_source_is_a_bag() -> None:
    model = build(positions="none").double().eval()
    target = FlatTokens.of([[1, 2, 3]])
    first, second = (model(FlatTokens.of([words]), target) for words in ([4, 5, 6, 7], [7, 5, 4, 6]))
    torch.testing.assert_close(first, second, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shift", [1, 5, 40])
def test_turned_products_know_distances_alone(shift: int) -> None:
    torch.manual_seed(0)
    rotary = RotaryPositions(6).double()
    query, key = heads = torch.randn(2, 1, 6, dtype=torch.float64)  # of two positions with one head each
    places = torch.tensor([3, 11])

    def product(positions: Tensor) -> Tensor:
        first, second = rotary(heads, positions)
        return torch.dot(first[0], second[0])

    torch.testing.assert_close(product(places + shift), product(places), rtol=0, atol=1e-5)
    assert not torch.allclose(product(places), query[0] @ key[0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_rotated_heads_keep_their_type(dtype: torch.dtype) -> None:
    """The kernel for flat tensors takes half precision alone."""
    heads = torch.randn(5, 2, 6).to(dtype)
    with torch.autocast("cpu", torch.bfloat16):
        assert RotaryPositions(6)(heads, torch.arange(5)).dtype == dtype
    rotated = RotaryPositions(6)(heads, torch.arange(5))
    assert rotated.dtype == dtype
    exact = RotaryPositions(6)(heads.float(), torch.arange(5))
    torch.testing.assert_close(rotated.float(), exact, rtol=2**-8, atol=2**-8)


def test_rotary_positions_tell_the_order_of_words() -> None:
    model = build(positions="rotary").eval()
    first, second = (model(FlatTokens.of([words]), FlatTokens.of([[1]])) for words in ([4, 5, 6], [6, 5, 4]))
    assert not torch.allclose(first, second)


def test_sinusoids_in_blocks_are_the_authors_code() -> None:
    """As get_timing_signal_1d of Tensor2Tensor computed them: timescales in a geometric series from 1 to 10000."""
    length, d_model = 7, 8
    increment = torch.log(torch.tensor(10000.0)) / (d_model // 2 - 1)
    timescales = torch.exp(torch.arange(d_model // 2) * -increment)
    scaled = torch.arange(length)[:, None] * timescales
    torch.testing.assert_close(
        sinusoids_in_blocks(torch.arange(length), d_model), torch.cat([scaled.sin(), scaled.cos()], dim=1)
    )


def built_alike(**changes: Any) -> Transformer:
    """The tiny Transformer in evaluation mode, with the same weights at every call."""
    torch.manual_seed(0)
    return build(**changes).double().eval()


def test_a_decoder_that_starts_with_zeros_learns_no_start() -> None:
    model, source = built_alike(decoder_start="zeros"), sentences(4)
    assert torch.equal(*(model(source, FlatTokens.of([[begin, 5]])) for begin in (BOS, 9)))
    begun: list[Tensor] = []
    model.dropout.register_forward_pre_hook(lambda _module, inputs: begun.append(inputs[0]))
    model(source, FlatTokens.of([[BOS, 5]]))
    torch.testing.assert_close(begun[1][0], sinusoids(torch.tensor([0]), 16)[0].double())


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal_blocks"])
@pytest.mark.parametrize("max_positions", [2, 32])
def test_an_offset_moves_every_position(positions: str, max_positions: int) -> None:
    """Also beyond the table of `max_positions`."""
    formula = {"sinusoidal": sinusoids, "sinusoidal_blocks": sinusoids_in_blocks}[positions]
    tokens = sentences(5)
    model = built_alike(positions=positions, position_offset=2, max_positions=max_positions)
    summed: list[Tensor] = []
    model.dropout.register_forward_pre_hook(lambda _module, inputs: summed.append(inputs[0]))
    model(tokens, tokens)
    moved = formula(torch.arange(2, 7), 16).double()
    for side in summed:
        torch.testing.assert_close(side - model.embedding(tokens.ids), moved)


def test_swish_is_x_times_its_sigmoid() -> None:
    network = built_alike(activation="swish").encoder[0].get_submodule("feed_forward")
    assert isinstance(network, FeedForward)
    states = torch.randn(5, 16, dtype=torch.float64, requires_grad=True)
    inner = states @ network.inner.weight.T + network.inner.bias
    expected = (inner / (1 + (-inner).exp())) @ network.output.weight.T + network.output.bias
    results = network(states), expected
    torch.testing.assert_close(*results)
    torch.testing.assert_close(*(torch.autograd.grad(each.sum(), states) for each in results))


def test_an_output_bias_is_added_to_the_logits() -> None:
    model = built_alike(output_bias=True)
    batch = sentences(5, 3), sentences(4, 6)
    logits = model(*batch)
    bias = model.output_bias
    assert bias is not None
    torch.testing.assert_close(logits - bias, model.states(*batch) @ model.output_weight.T)
    (gradient,) = torch.autograd.grad(logits[:, 3].sum(), bias)
    assert gradient.nonzero().tolist() == [[3]]
    assert build().output_bias is None


def test_one_vector_is_added_to_every_source_embedding_and_to_no_target() -> None:
    model, tokens = built_alike(target_space_embedding=True), sentences(5)
    vector = model.target_space
    assert vector is not None
    summed: list[Tensor] = []
    model.dropout.register_forward_pre_hook(lambda _module, inputs: summed.append(inputs[0]))
    model(tokens, tokens).sum().backward()
    source, target = (side - model.embedding(tokens.ids) - sinusoids(torch.arange(5), 16) for side in summed)
    torch.testing.assert_close(source, vector.expand(5, 16))
    assert not target.abs().gt(1e-6).any()
    assert vector.grad is not None
    assert vector.grad.abs().sum() > 0


def test_a_restricted_decoder_forgets_what_is_out_of_reach() -> None:
    """One layer without residual reach: the tenth token cannot know of the first."""
    model = build(attention="restricted", neighbourhood=4, num_layers=1).eval()
    source, later = FlatTokens.of([[4, 5]]), range(2, 11)
    first, second = (model(source, FlatTokens.of([[begin, *later]])) for begin in (1, 20))
    assert torch.equal(first[-1], second[-1])


def test_a_lone_position_is_nothing_that_attention_could_get_wrong() -> None:
    """Whatever the function, one position attends to itself alone."""
    results = []
    for attention in ("scaled_dot", "dot", "additive", "restricted"):
        torch.manual_seed(0)
        layer = build(attention=attention, neighbourhood=4).eval().encoder[0].get_submodule("self_attention")
        assert isinstance(layer, SelfAttention)
        torch.manual_seed(1)
        for parameter in (layer.query_key_value.weight, layer.output.weight):
            torch.nn.init.normal_(parameter)
        view = PaddedView(Layout.of([1]))
        reach = 2 if attention == "restricted" else None
        results.append(layer(torch.ones(1, 16), SentenceContext(view, view, reach=reach)))
    assert all(torch.allclose(result, results[0], atol=1e-5) for result in results)
