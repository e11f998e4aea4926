"""Properties of every model: causality by gradient, padding, and steps of a search that equal training."""

from typing import Any, cast

import pytest
import torch
from tiny_models import build, sentences
from torch import Tensor, nn

from aiayn.models.architecture import ConvolutionalArchitecture, RecurrentArchitecture
from aiayn.models.baselines.convolutional import ConvolutionalTranslator
from aiayn.models.baselines.recurrent import RecurrentTranslator
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
    {"reads_bos": False},
    {"attention_dropout": 0.3, "activation_dropout": 0.3},
]
BASELINES = ["convolutional", *(f"{kind} {cell}" for kind in ("none", "additive", "dot") for cell in ("gru", "lstm"))]


def baseline(kind: str) -> nn.Module:
    sizes: dict[str, Any] = {"d_model": 8, "num_layers": 2, "dropout": 0.0}
    if kind == "convolutional":
        made = ConvolutionalArchitecture(**sizes, kernel_size=3, max_positions=64)
        return ConvolutionalTranslator(made, vocabulary_size=23)
    attention, cell = cast("tuple[Any, Any]", kind.split())
    return RecurrentTranslator(RecurrentArchitecture(**sizes, cell=cell, attention=attention), vocabulary_size=23)


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


def test_pads_and_other_sentences_change_nothing(model: Model) -> None:
    source, target = sentences(7, 3, 1), sentences(4, 6, 2)
    together = model(source, target)
    for row, (length, target_length) in enumerate(zip((7, 3, 1), (4, 6, 2), strict=True)):
        alone = model(source[row : row + 1, :length], target[row : row + 1, :target_length])
        torch.testing.assert_close(together[row, :target_length], alone[0], rtol=0, atol=1e-11)


def test_a_position_depends_on_the_whole_source_and_on_earlier_targets_alone(model: Model) -> None:
    """By gradient, at the embedded tokens."""
    source, target = torch.tensor([[4, 5, 6, 7, 8]]), torch.tensor([[1, 2, 3, 4, 5, 6]])
    embedded: list[Tensor] = []

    def watch(module: object, inputs: object, output: Tensor) -> Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[-1]

    watched = model.dropout if isinstance(model, Transformer) else model.embedding
    with watched.register_forward_hook(watch):
        logits = model(source, target)
    of_source, of_target = (each.flatten(0, -2) for each in torch.autograd.grad(logits[0, 3].sum(), embedded))
    assert (of_source[:5] != 0).any(dim=-1).all()
    assert (of_target[:6] != 0).any(dim=-1).tolist() == [True] * 4 + [False] * 2


def test_steps_of_a_search_are_the_positions_of_training(model: Model) -> None:
    source, target = sentences(5, 3), sentences(9, 9)
    expected = model(source, target)
    state = model.begin(source)
    for position in range(target.shape[1]):
        logits, normalizers = model.step(target[:, position : position + 1], state)
        torch.testing.assert_close(logits[:, 0], expected[:, position], rtol=0, atol=1e-11)
        of_all = torch.logsumexp(expected[:, position], dim=-1).float()
        torch.testing.assert_close(normalizers[:, 0].float(), of_all, rtol=0, atol=1e-6)


def assert_last_logits(model: Model, logits: Tensor, source: Tensor, path: list[int]) -> None:
    """Of one sentence without pads, after the tokens of a path."""
    expected = model(source[source != 0][None], torch.tensor([path]))[0, -1]
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
            assert_last_logits(model, logits[row, beam], source[sentence], path)


def test_sentences_join_a_search_that_others_have_begun(model: Model) -> None:
    source, later = sentences(5, 3), sentences(6, 2)
    state = model.begin(source)
    model.step(torch.ones(2, 1, dtype=torch.int64), state)
    model.step(torch.tensor([[2], [3]]), state)
    state.join(model.begin(later))
    logits, _ = model.step(torch.tensor([[4], [5], [1], [1]]), state)
    for row, (sentence, path) in enumerate(zip([*source, *later], ([1, 2, 4], [1, 3, 5], [1], [1]), strict=True)):
        assert_last_logits(model, logits[row, 0], sentence, path)


def test_every_parameter_has_a_gradient(model: Model) -> None:
    model.train()
    model(sentences(5, 3), sentences(4, 6)).square().sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []
