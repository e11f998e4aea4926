"""Properties of single variants of the Transformer; those of all are in test_translation_models.py."""

import pytest
import torch
from tiny_models import build, sentences
from torch import Tensor

from aiayn.models.attention import SelfAttention
from aiayn.models.packing import Packing
from aiayn.models.positions import RotaryPositions, sinusoids_in_blocks, turned


def test_without_positions_a_source_is_a_bag() -> None:
    model = build(positions="none").double().eval()
    target = torch.tensor([[1, 2, 3]])
    first, second = (model(torch.tensor([words]), target) for words in ([4, 5, 6, 7], [7, 5, 4, 6]))
    torch.testing.assert_close(first, second, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shift", [1, 5, 40])
def test_turned_products_know_distances_alone(shift: int) -> None:
    torch.manual_seed(0)
    rotary = RotaryPositions(6).double()
    query, key = torch.randn(2, 6, dtype=torch.float64)
    places = torch.tensor([3, 11])

    def product(columns: Tensor) -> Tensor:
        first, second = (
            turned(each[None], rotary(column[None]))[0] for each, column in zip((query, key), columns, strict=True)
        )
        return first @ second

    torch.testing.assert_close(product(places + shift), product(places), rtol=0, atol=1e-5)
    assert not torch.allclose(product(places), query @ key)


def test_rotary_positions_tell_the_order_of_words() -> None:
    model = build(positions="rotary").eval()
    first, second = (model(torch.tensor([words]), torch.tensor([[1]])) for words in ([4, 5, 6], [6, 5, 4]))
    assert not torch.allclose(first, second)


def test_sinusoids_in_blocks_are_the_authors_code() -> None:
    """As get_timing_signal_1d of Tensor2Tensor computed them: timescales in a geometric series from 1 to 10000."""
    length, d_model = 7, 8
    increment = torch.log(torch.tensor(10000.0)) / (d_model // 2 - 1)
    timescales = torch.exp(torch.arange(d_model // 2) * -increment)
    scaled = torch.arange(length)[:, None] * timescales
    torch.testing.assert_close(sinusoids_in_blocks(0, length, d_model), torch.cat([scaled.sin(), scaled.cos()], dim=1))


def test_a_decoder_that_reads_no_bos_begins_with_zeros() -> None:
    model, source = build(reads_bos=False).eval(), sentences(4)
    first, second = (model(source, torch.tensor([[begin, 5]])) for begin in (1, 9))
    assert torch.equal(first, second)


def test_a_restricted_decoder_forgets_what_is_out_of_reach() -> None:
    """One layer without residual reach: the tenth token cannot know of the first."""
    model = build(attention="restricted", neighbourhood=4, num_layers=1).eval()
    source, target = torch.tensor([[4, 5]]), torch.arange(1, 11)[None]
    changed = target.clone()
    changed[0, 0] = 20
    assert torch.equal(model(source, changed)[0, -1], model(source, target)[0, -1])


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
        results.append(layer(torch.ones(1, 16), Packing(1, 1, None)))
    assert all(torch.allclose(result, results[0], atol=1e-5) for result in results)
