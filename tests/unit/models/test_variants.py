"""Properties of single variants of the Transformer; those of all are in test_translation_models.py."""

import pytest
import torch
from tiny_models import build, sentences
from torch import Tensor

from aiayn.flat_tokens import FlatTokens, Layout
from aiayn.models.attention import MultiHeadAttention
from aiayn.models.attention_context import SentenceContext
from aiayn.models.padded_view import PaddedView
from aiayn.models.variants.positions import RotaryPositions, sinusoids_in_blocks


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


def test_a_decoder_that_reads_no_bos_begins_with_zeros() -> None:
    model, source = build(reads_bos=False).eval(), sentences(4)
    first, second = (model(source, FlatTokens.of([[begin, 5]])) for begin in (1, 9))
    assert torch.equal(first, second)


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
        assert isinstance(layer, MultiHeadAttention)
        assert layer.query_key_value is not None
        torch.manual_seed(1)
        for parameter in (layer.query_key_value.weight, layer.output.weight):
            torch.nn.init.normal_(parameter)
        view = PaddedView(Layout.of([1]))
        reach = 2 if attention == "restricted" else None
        results.append(layer(torch.ones(1, 16), SentenceContext(view, view, reach=reach)))
    assert all(torch.allclose(result, results[0], atol=1e-5) for result in results)
