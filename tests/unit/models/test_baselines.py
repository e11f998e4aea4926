import math
from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.architecture import ConvolutionalArchitecture, RecurrentArchitecture
from aiayn.models.baselines.convolutional import ConvolutionalTranslator, GatedConvolution
from aiayn.models.baselines.recurrent import RecurrentTranslator
from aiayn.models.measured_cost import measured_cost
from aiayn.models.transformer import count_parameters

CELLS = ("gru", "lstm")

Baseline = RecurrentTranslator | ConvolutionalTranslator

BASELINES = ["convolutional", *(f"{attention} {cell}" for attention in ("none", "additive", "dot") for cell in CELLS)]


@pytest.fixture(params=BASELINES)
def model(request: pytest.FixtureRequest) -> Baseline:
    torch.manual_seed(0)
    made: Baseline = build(request.param).double().eval()
    for parameter in made.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, std=0.3)
    return made


def build(kind: str, *, d_model: int = 8, num_layers: int = 2, dropout: float = 0.0, vocabulary_size: int = 23) -> Any:
    sizes: dict[str, Any] = {"d_model": d_model, "num_layers": num_layers, "dropout": dropout}
    if kind == "convolutional":
        return ConvolutionalTranslator(
            ConvolutionalArchitecture(**sizes, kernel_size=3, max_positions=64), vocabulary_size=vocabulary_size
        )
    attention, cell = cast("tuple[Any, Any]", kind.split())
    return RecurrentTranslator(
        RecurrentArchitecture(**sizes, cell=cell, attention=attention), vocabulary_size=vocabulary_size
    )


def sentences(*lengths: int) -> Tensor:
    batch = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in zip(batch, lengths, strict=True):
        row[:length] = torch.randint(1, 23, (length,))
    return batch


def test_pads_change_nothing(model: Baseline) -> None:
    source, target = sentences(5, 3, 1), sentences(4, 6, 2)
    together = model(source, target)
    for row, (length, target_length) in enumerate(zip((5, 3, 1), (4, 6, 2), strict=True)):
        alone = model(source[row : row + 1, :length], target[row : row + 1, :target_length])
        torch.testing.assert_close(together[row, :target_length], alone[0], rtol=0, atol=1e-12)


def test_a_position_depends_on_the_whole_source_and_on_earlier_targets_alone(model: Baseline) -> None:
    source, target = sentences(5), sentences(6)
    read: list[Tensor] = []

    def watched(module: object, inputs: object, output: Tensor) -> Tensor:
        read.append(output.detach().requires_grad_())
        return read[-1]

    with model.embedding.register_forward_hook(watched):
        logits = model(source, target)
    of_source, of_target = torch.autograd.grad(logits[0, 3].sum(), read)
    assert (of_source[0] != 0).any(dim=-1).all()
    assert (of_target[0] != 0).any(dim=-1).tolist() == [True] * 4 + [False] * 2


def test_steps_of_a_search_are_the_positions_of_training(model: Baseline) -> None:
    source, target = sentences(5, 3), sentences(4, 4)
    expected = model(source, target)
    state: Any = model.begin(source)
    for position in range(target.shape[1]):
        logits, normalizers = model.step(target[:, position : position + 1], state)
        torch.testing.assert_close(logits[:, 0], expected[:, position], rtol=0, atol=1e-12)
        of_all = torch.logsumexp(expected[:, position], dim=-1).float()
        torch.testing.assert_close(normalizers[:, 0], of_all, rtol=0, atol=1e-6)


def test_beams_go_on_from_their_own_past(model: Baseline) -> None:
    """Each beam of a search that reorders, drops and keeps is the same as a search of its own."""
    source = sentences(5, 3, 4)
    state: Any = model.begin(source)
    model.step(torch.ones(3, 1, dtype=torch.int64), state)
    state.reorder(torch.zeros(3, 2, dtype=torch.int64))
    model.step(torch.tensor([[2, 3], [4, 5], [6, 7]]), state)
    state.reorder(torch.tensor([[1, 0], [1, 1], [0, 1]]))
    state.keep(torch.tensor([2, 1]))
    logits, _ = model.step(torch.tensor([[8, 9], [10, 11]]), state)
    for row, (sentence, paths) in enumerate(((2, ([1, 6, 8], [1, 7, 9])), (1, ([1, 5, 10], [1, 5, 11])))):
        for beam, path in enumerate(paths):
            alone = model(source[sentence : sentence + 1], torch.tensor([path]))[0, -1]
            torch.testing.assert_close(logits[row, beam], alone, rtol=0, atol=1e-12)


def test_sentences_join_a_search_that_others_have_begun(model: Baseline) -> None:
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


def test_a_fixed_context_is_the_same_at_every_step() -> None:
    model = build("none gru")
    memory, _ = model.encode(sentences(5, 3))
    assert memory.values.shape == (2, 1, 8)


@pytest.mark.parametrize("before", [1, 2])
def test_a_gated_convolution_is_torchs_own_and_its_steps_are_its_positions(before: int) -> None:
    sizes = ConvolutionalArchitecture(d_model=4, num_layers=1, kernel_size=3, dropout=0.0, max_positions=16)
    layer, states = GatedConvolution(sizes).double(), torch.randn(2, 6, 4, dtype=torch.float64)
    kernel = torch.unflatten(layer.weight, 1, (3, 4)).transpose(1, 2)  # [out, in, k]
    padded = F.pad(states.transpose(1, 2), (before, 2 - before))
    expected = F.glu(F.conv1d(padded, kernel, layer.bias), dim=1).transpose(1, 2)
    torch.testing.assert_close(layer(states, before=before), expected, rtol=0, atol=1e-12)
    if before == 2:
        torch.testing.assert_close(layer.step(states[:, 1:4]), expected[:, 3], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", BASELINES)
def test_the_measured_cost_is_six_operations_for_each_weight_that_a_token_meets(kind: str) -> None:
    model = build(kind)
    matrices = {name: each.numel() for name, each in model.named_parameters() if each.dim() == 2}
    of_source = sum(count for name, count in matrices.items() if name.startswith(("encoder", "key")))
    of_target = sum(count for name, count in matrices.items() if name.startswith(("decoder", "query", "readout")))
    of_target += model.output_weight.numel()
    cost = measured_cost(lambda rows: build(kind, vocabulary_size=rows), vocabulary_size=23)
    assert cost.parameters == count_parameters(model)
    assert cost.training_flops(source_tokens=5, target_tokens=7) == 6 * (5 * of_source + 7 * of_target)


@pytest.mark.parametrize("kind", BASELINES)
def test_a_fresh_model_knows_nothing(kind: str) -> None:
    """It starts near the uniform distribution, whose loss is log(V), and not far above."""
    torch.manual_seed(0)
    model = build(kind, d_model=128, num_layers=3).eval()
    with torch.no_grad():
        logits = model(torch.randint(1, 23, (8, 20)), torch.randint(1, 23, (8, 20)))
    loss = F.cross_entropy(logits.flatten(0, 1), torch.randint(1, 23, (8 * 20,)))
    assert float(loss) < 1.3 * math.log(23)
