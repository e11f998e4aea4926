"""What holds of the paper's Transformer holds of every variant: masks by gradient, pads, and the steps of a search."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from aiayn.models.attention import SelfAttention
from aiayn.models.packing import Packing
from aiayn.models.positions import RotaryPositions, sinusoids_in_blocks, turned
from aiayn.models.transformer import Transformer

Build = Callable[..., Transformer]
Sentences = Callable[..., Tensor]

VARIANTS: list[dict[str, Any]] = [
    {"attention": "dot"},
    {"attention": "general", "d_k": 3},
    {"attention": "additive", "d_v": 6},
    {"attention": "concat"},
    {"attention": "restricted", "neighbourhood": 4},
    {"positions": "sinusoidal_blocks"},
    {"positions": "none"},
    {"positions": "concatenated"},
    {"positions": "rotary"},
    {"positions": "rotary", "attention": "restricted", "neighbourhood": 6, "norm": "pre"},
    {"normalization": "rms"},
    {"normalization": "rms", "norm": "pre"},
    {"residual": False},
    {"tied_embeddings": False},
    {"reads_bos": False},
    {"attention_dropout": 0.3, "activation_dropout": 0.3},
]


@pytest.fixture(params=VARIANTS, ids=str)
def model(request: pytest.FixtureRequest, build: Build) -> Transformer:
    torch.manual_seed(0)
    return build(**request.param).double().eval()


def test_pads_change_nothing(model: Transformer, sentences: Sentences) -> None:
    source, target = sentences(7, 3, 1), sentences(4, 6, 2)
    together = model(source, target)
    for row, (length, target_length) in enumerate(zip((7, 3, 1), (4, 6, 2), strict=True)):
        alone = model(source[row : row + 1, :length], target[row : row + 1, :target_length])
        torch.testing.assert_close(together[row, :target_length], alone[0], rtol=0, atol=1e-11)


def test_a_position_depends_on_the_source_and_on_earlier_targets_alone(model: Transformer) -> None:
    """By gradient, at what the layers are given."""
    source, target = torch.tensor([[4, 5, 6, 7, 8]]), torch.tensor([[1, 2, 3, 4, 5, 6]])
    given: list[Tensor] = []

    def watched(module: object, inputs: object, output: Tensor) -> Tensor:
        given.append(output.detach().requires_grad_())
        return given[-1]

    with model.dropout.register_forward_hook(watched):
        logits = model(source, target)
    of_source, of_target = torch.autograd.grad(logits[0, 3].sum(), given)
    assert (of_source[:5] != 0).any(dim=-1).all()
    assert (of_target[:6] != 0).any(dim=-1).tolist() == [True] * 4 + [False] * 2


def test_later_tokens_change_nothing_and_earlier_ones_do(model: Transformer, sentences: Sentences) -> None:
    source, target = sentences(5), torch.tensor([[1, 2, 3, 4, 5, 6]])
    logits, position = model(source, target), 3
    later = target.clone()
    later[0, position + 1 :] = torch.tensor([8, 9])
    assert torch.equal(model(source, later)[0, : position + 1], logits[0, : position + 1])
    earlier = target.clone()
    earlier[0, position - 1] = 8
    assert not torch.equal(model(source, earlier)[0, position], logits[0, position])


def test_steps_of_a_search_are_the_positions_of_training(model: Transformer, sentences: Sentences) -> None:
    source, target = sentences(5, 3), sentences(9, 9)
    expected = model(source, target)
    state = model.begin(source)
    for position in range(target.shape[1]):
        logits, _ = model.step(target[:, position : position + 1], state)
        torch.testing.assert_close(logits[:, 0], expected[:, position], rtol=0, atol=1e-11)


def test_beams_go_on_from_their_own_past(model: Transformer, sentences: Sentences) -> None:
    source = sentences(5, 3, 4)
    state = model.begin(source)
    model.step(torch.ones(3, 1, dtype=torch.int64), state)
    state.reorder(torch.zeros(3, 2, dtype=torch.int64))
    model.step(torch.tensor([[2, 3], [4, 5], [6, 7]]), state)
    state.reorder(torch.tensor([[1, 0], [1, 1], [0, 1]]))
    state.keep(torch.tensor([2, 1]))
    logits, _ = model.step(torch.tensor([[8, 9], [10, 11]]), state)
    for row, (sentence, paths) in enumerate(((2, ([1, 6, 8], [1, 7, 9])), (1, ([1, 5, 10], [1, 5, 11])))):
        for beam, path in enumerate(paths):
            alone = model(source[sentence : sentence + 1], torch.tensor([path]))[0, -1]
            torch.testing.assert_close(logits[row, beam], alone, rtol=0, atol=1e-11)


def test_sentences_join_a_search_that_others_have_begun(model: Transformer, sentences: Sentences) -> None:
    source, later = sentences(5, 3), sentences(6, 2)
    state: Any = model.begin(source)
    model.step(torch.ones(2, 1, dtype=torch.int64), state)
    model.step(torch.tensor([[2], [3]]), state)
    state.join(model.begin(later))
    logits, _ = model.step(torch.tensor([[4], [5], [1], [1]]), state)
    paths = ([1, 2, 4], [1, 3, 5], [1], [1])
    for row, (sentence, path) in enumerate(zip([*source, *later], paths, strict=True)):
        alone = model(sentence[sentence != 0][None], torch.tensor([path]))[0, -1]
        torch.testing.assert_close(logits[row, 0], alone, rtol=0, atol=1e-11)


def test_every_parameter_has_a_gradient(model: Transformer, sentences: Sentences) -> None:
    model.train()
    model(sentences(5, 3), sentences(4, 6)).square().sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_without_positions_a_source_is_a_bag(build: Build) -> None:
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


def test_rotary_positions_tell_the_order_of_words(build: Build) -> None:
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


def test_a_decoder_that_reads_no_bos_begins_with_zeros(build: Build, sentences: Sentences) -> None:
    model, source = build(reads_bos=False).eval(), sentences(4)
    first, second = (model(source, torch.tensor([[begin, 5]])) for begin in (1, 9))
    assert torch.equal(first, second)


def test_a_restricted_decoder_forgets_what_is_out_of_reach(build: Build) -> None:
    """One layer without residual reach: the tenth token cannot know of the first."""
    model = build(attention="restricted", neighbourhood=4, num_layers=1).eval()
    source, target = torch.tensor([[4, 5]]), torch.arange(1, 11)[None]
    changed = target.clone()
    changed[0, 0] = 20
    assert torch.equal(model(source, changed)[0, -1], model(source, target)[0, -1])


def test_a_lone_position_is_nothing_that_attention_could_get_wrong(build: Build) -> None:
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
