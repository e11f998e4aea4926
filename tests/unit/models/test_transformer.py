from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import build, filled, sentences
from torch import Tensor, nn

from aiayn.errors import UserError
from aiayn.flat_tokens import FlatTokens
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.layers import DecoderLayer, EncoderLayer
from aiayn.models.multi_head_attention import CrossAttention, SelfAttention
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import count_parameters

Pair = tuple[list[Tensor], Tensor]

LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def counterparts(ours: Transformer, theirs: nn.Transformer) -> Iterator[Pair]:
    """Our parameters, to be stacked, and the one of `torch.nn.Transformer` they make up."""
    for mine, other in zip(ours.encoder, theirs.encoder.layers, strict=True):
        assert isinstance(mine, EncoderLayer)
        assert isinstance(other, nn.TransformerEncoderLayer)
        yield from attention_counterparts(mine.self_attention, other.self_attn)
        yield from same(mine.feed_forward.inner, other.linear1)
        yield from same(mine.feed_forward.output, other.linear2)
        yield from same(mine.self_attention_residual.norm, other.norm1)
        yield from same(mine.feed_forward_residual.norm, other.norm2)
    for mine, other in zip(ours.decoder, theirs.decoder.layers, strict=True):
        assert isinstance(mine, DecoderLayer)
        assert isinstance(other, nn.TransformerDecoderLayer)
        yield from attention_counterparts(mine.self_attention, other.self_attn)
        yield from attention_counterparts(mine.cross_attention, other.multihead_attn)
        yield from same(mine.feed_forward.inner, other.linear1)
        yield from same(mine.feed_forward.output, other.linear2)
        yield from same(mine.self_attention_residual.norm, other.norm1)
        yield from same(mine.cross_attention_residual.norm, other.norm2)
        yield from same(mine.feed_forward_residual.norm, other.norm3)
    for norm, other_norm in ((ours.encoder_norm, theirs.encoder.norm), (ours.decoder_norm, theirs.decoder.norm)):
        if isinstance(norm, nn.LayerNorm):
            assert isinstance(other_norm, nn.LayerNorm)
            yield from same(norm, other_norm)


def same(mine: nn.Module, other: nn.Linear | nn.LayerNorm) -> Iterator[Pair]:
    assert isinstance(mine, nn.Linear | nn.LayerNorm)
    yield [mine.weight], other.weight
    yield [mine.bias], other.bias


def attention_counterparts(mine: SelfAttention | CrossAttention, other: nn.MultiheadAttention) -> Iterator[Pair]:
    inputs = [mine.query_key_value] if isinstance(mine, SelfAttention) else [mine.query, mine.key_value]
    yield [linear.weight for linear in inputs], other.in_proj_weight
    yield [linear.bias for linear in inputs], other.in_proj_bias
    yield from same(mine.output, other.out_proj)


def placed(model: Transformer, tokens: FlatTokens) -> Tensor:
    """Embeddings with their positions."""
    layout = tokens.layout
    states: Tensor = model.positions(model.embedding(tokens.ids), layout.positions, longest=layout.longest)
    return states


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_equals_torch(norm: str) -> None:
    """Same weights and sentences in, same states and gradients out as `torch.nn.Transformer`, which pads."""
    torch.manual_seed(0)
    ours = build(norm=norm, projection_bias=True).double()
    theirs = nn.Transformer(
        16, 4, 2, 2, 24, dropout=0.0, layer_norm_eps=1e-6, batch_first=True, norm_first=norm == "pre"
    ).double()
    if norm == "post":  # theirs normalises once more at the end of each stack
        theirs.encoder.norm = theirs.decoder.norm = None
    pairs = list(counterparts(ours, theirs))
    assert len({id(other) for _, other in pairs}) == len(list(theirs.parameters()))
    assert sum(len(mine) for mine, _ in pairs) == len(list(ours.parameters())) - 1  # all but the embeddings
    with torch.no_grad():
        for mine, other in pairs:
            other.copy_(torch.cat(mine))
    source, target = sentences(4, 7, 2), sentences(5, 3, 6)

    result = ours.decode(target, ours.encode(source))
    views = [PaddedView(side.layout) for side in (source, target)]
    embedded = [view.pad(placed(ours, side).detach()) for view, side in zip(views, (source, target), strict=True)]
    is_pad, is_target_pad = (~view.is_token for view in views)
    expected = theirs(
        *embedded,
        tgt_mask=torch.ones(6, 6, dtype=torch.bool).triu(1),
        src_key_padding_mask=is_pad,
        tgt_key_padding_mask=is_target_pad,
        memory_key_padding_mask=is_pad,
    )[~is_target_pad]
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-10)

    weights = torch.randn_like(result)
    for states in (result, expected):
        torch.autograd.backward((states * weights).sum())
    for mine, other in pairs:
        gradients = [parameter.grad for parameter in mine if parameter.grad is not None]
        torch.testing.assert_close(torch.cat(gradients), other.grad, rtol=0, atol=1e-10)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@given(LENGTHS, st.integers(0, 8), st.integers(0, 8), st.integers(0, 2**32))
@settings(max_examples=20)
def test_fillers_change_nothing(
    positions: str, lengths: list[int], source_fillers: int, target_fillers: int, seed: int
) -> None:
    """Neither the result at a sentence's token nor any parameter's gradient depends on fillers, however many."""
    torch.manual_seed(seed)
    model = build(positions=positions, max_positions=5).double()
    source, target = sentences(*lengths), sentences(*reversed(lengths))
    weights = torch.randn(sum(lengths), 23, dtype=torch.float64)
    results = []
    for pair in ((source, target), (filled(source, source_fillers), filled(target, target_fillers))):
        logits = model(*pair)[: sum(lengths)]
        results.append([logits, *torch.autograd.grad((logits * weights).sum(), list(model.parameters()))])
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=1e-10)


def test_the_order_of_words_matters() -> None:
    """Attention alone would see a bag of words: this is what positions are for."""
    source, target = FlatTokens.of([[5, 6, 7, 8], [8, 7, 6, 5]]), FlatTokens.of([[1], [1]])
    for positions in ("sinusoidal", "learned"):
        states = build(positions=positions)(source, target)
        assert (states[0] - states[1]).abs().max() > 1e-3


def test_source_target_and_softmax_share_one_matrix() -> None:
    torch.manual_seed(0)
    model = build()
    tables = [parameter for parameter in model.parameters() if 23 in parameter.shape]
    assert len(tables) == 1
    states = torch.randn(2, 3, 16)
    torch.testing.assert_close(model.project(states), states @ tables[0].T)
    tokens = sentences(4).ids
    torch.testing.assert_close(model.embedding(tokens), 4 * tables[0][tokens])  # sqrt(16) = 4


def test_dropout_falls_on_the_sums_of_embeddings_and_positions() -> None:
    torch.manual_seed(0)
    model = build(dropout=0.5)
    seen: list[Tensor] = []
    for layer in (model.encoder[0], model.decoder[0]):
        layer.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    tokens = sentences(*[20] * 64)
    model(tokens, tokens)
    whole = placed(model, tokens)
    for states in seen:
        dropped = states == 0
        assert abs(float(dropped.float().mean()) - 0.5) < 0.02  # 20,480 draws: five standard deviations
        torch.testing.assert_close(states[~dropped], 2 * whole[~dropped])
    assert len(seen) == 2
    assert torch.equal(model.eval()(tokens, tokens), model(tokens, tokens))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_runs_in_bfloat16(norm: str) -> None:
    torch.manual_seed(0)
    model = build(norm=norm, d_k=8, d_v=8)
    sources, targets = sentences(4, 6), sentences(5, 3)
    exact = model(sources, targets)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(sources, targets)
        step_logits, normalizers = model.eval().step(torch.tensor([[1], [1]]), model.begin(sources))
    assert logits.dtype == torch.bfloat16
    assert (step_logits.dtype, normalizers.dtype) == (torch.bfloat16, torch.float32)
    assert (logits - exact).abs().max() < 0.1 * exact.abs().max()
    torch.autograd.backward(logits.float().square().sum())
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


def test_counting_leaves_out_buffers_and_repetitions() -> None:
    model = nn.Module()
    model.register_parameter("first", nn.Parameter(torch.zeros(3, 4)))
    model.register_parameter("tied", model.get_parameter("first"))
    model.register_buffer("constant", torch.zeros(100))
    assert count_parameters(model) == 12
    assert count_parameters(build(max_positions=32)) == count_parameters(build(max_positions=64))


def test_a_sentence_longer_than_the_learned_table_is_refused() -> None:
    model = build(positions="learned", max_positions=4)
    with pytest.raises(UserError, match=r"^model\.max_positions=4: too few for 5 tokens"):
        model(sentences(5), sentences(2))
