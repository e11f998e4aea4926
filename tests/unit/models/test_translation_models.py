"""Properties of every model: causality by gradient, independence of neighbours, and a search that equals training."""

from typing import Any

import pytest
import torch
from tiny_models import build, chosen, filled, lines, sentences
from torch import Tensor, nn

from aiayn.extensions.baselines.convolutional import ConvolutionalTranslator
from aiayn.extensions.baselines.recurrent import RecurrentTranslator
from aiayn.flat_tokens import FlatTokens
from aiayn.models.transformer import Transformer

Model = Any  # TranslationModel, whose states differ

TRANSFORMERS: list[dict[str, Any]] = [
    {},
    {"norm": "pre"},
    {"positions": "learned"},
    {"d_k": 3, "d_v": 5, "projection_bias": True},
    {"max_positions": 2},
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
    {"decoder_start": "eos"},
    {"decoder_start": "pad", "activation": "swish", "output_bias": True},
    {"decoder_start": "zeros", "target_space_embedding": True},
    {"position_offset": 2},
    {"position_offset": 2, "max_positions": 2, "positions": "concatenated"},
    {"attention_dropout": 0.3, "activation_dropout": 0.3},
]
BASELINES = ["convolutional", *(f"{kind} {cell}" for kind in ("none", "additive", "dot") for cell in ("gru", "lstm"))]


def baseline(kind: str) -> nn.Module:
    sizes: dict[str, Any] = {"vocabulary_size": 23, "d_model": 8, "num_layers": 2, "dropout": 0.0}
    if kind == "convolutional":
        return ConvolutionalTranslator(**sizes, kernel_size=3, max_positions=64)
    attention, cell = kind.split()
    return RecurrentTranslator(**sizes, cell=cell, attention=attention)


@pytest.fixture(params=[*TRANSFORMERS, *BASELINES], ids=str)
def model(request: pytest.FixtureRequest) -> Model:
    torch.manual_seed(0)
    if isinstance(request.param, dict):
        return build(**request.param).double().eval()
    made = baseline(request.param).double().eval()
    for parameter in made.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, std=0.3)
    return made


@pytest.mark.parametrize(("fillers", "target_fillers"), [(0, 0), (5, 0), (0, 4), (3, 9)])
def test_other_sentences_and_fillers_change_nothing(model: Model, fillers: int, target_fillers: int) -> None:
    source, target = sentences(7, 3, 1), sentences(4, 6, 2)
    together = model(filled(source, fillers), filled(target, target_fillers))
    assert len(together) == 4 + 6 + 2 + target_fillers
    for row, result in enumerate(torch.split(together[: 4 + 6 + 2], [4, 6, 2])):
        alone = model(chosen(source, [row]), chosen(target, [row]))
        torch.testing.assert_close(result, alone, rtol=0, atol=1e-11)


def test_a_position_depends_on_the_whole_source_and_on_earlier_targets_alone(model: Model) -> None:
    """By gradient, at the embedded tokens; on nothing of a second sentence."""
    source, target = FlatTokens.of([[4, 5, 6, 7, 8], [9, 10, 11]]), FlatTokens.of([[1, 2, 3, 4, 5, 6], [1, 12]])
    embedded: list[Tensor] = []

    def watch(module: object, inputs: object, output: Tensor) -> Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[-1]

    watched = model.dropout if isinstance(model, Transformer) else model.embedding
    with watched.register_forward_hook(watch):
        logits = model(source, target)
    of_source, of_target = (each.flatten(0, -2) for each in torch.autograd.grad(logits[3].sum(), embedded))
    assert (of_source[:5] != 0).any(dim=-1).all()
    assert not of_source[5:].any()
    assert (of_target[:6] != 0).any(dim=-1).tolist() == [True] * 4 + [False] * 2
    assert not of_target[6:].any()


def test_steps_of_a_search_are_the_positions_of_training(model: Model) -> None:
    source, target = sentences(5, 3), sentences(9, 9)
    expected, tokens = model(source, target).view(2, 9, -1), target.ids.view(2, 9)
    state = model.begin(source)
    for position in range(9):
        logits, normalizers = model.step(tokens[:, position : position + 1], state)
        torch.testing.assert_close(logits[:, 0], expected[:, position], rtol=0, atol=1e-11)
        of_all = torch.logsumexp(expected[:, position], dim=-1).float()
        torch.testing.assert_close(normalizers[:, 0].float(), of_all, rtol=0, atol=1e-6)


def assert_last_logits(model: Model, logits: Tensor, source: list[int], path: list[int]) -> None:
    """Of one sentence, after the tokens of a path."""
    expected = model(FlatTokens.of([source]), FlatTokens.of([path]))[-1]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-11)


def test_beams_continue_their_own_past(model: Model) -> None:
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
            assert_last_logits(model, logits[row, beam], lines(source)[sentence], path)


def test_sentences_join_a_search_that_others_have_begun(model: Model) -> None:
    source, later = sentences(5, 3), sentences(6, 2)
    state = model.begin(source)
    model.step(torch.ones(2, 1, dtype=torch.int64), state)
    model.step(torch.tensor([[2], [3]]), state)
    state.join(model.begin(later))
    logits, _ = model.step(torch.tensor([[4], [5], [1], [1]]), state)
    for row, (sentence, path) in enumerate(
        zip(lines(source) + lines(later), ([1, 2, 4], [1, 3, 5], [1], [1]), strict=True)
    ):
        assert_last_logits(model, logits[row, 0], sentence, path)


def test_every_parameter_has_a_gradient(model: Model) -> None:
    model.train()
    model(sentences(5, 3), sentences(4, 6)).square().sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []
