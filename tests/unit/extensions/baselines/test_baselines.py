"""Recurrent and convolutional models; properties of all models are in test_translation_models.py."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from aiayn.extensions.baselines.convolutional import ConvolutionalTranslator, GatedConvolution
from aiayn.extensions.baselines.recurrent import RecurrentTranslator
from aiayn.flat_tokens import FlatTokens
from aiayn.models.measured_cost import measured_cost
from aiayn.models.translation_model import count_parameters

CELLS = ("gru", "lstm")

Baseline = RecurrentTranslator | ConvolutionalTranslator

BASELINES = ["convolutional", *(f"{attention} {cell}" for attention in ("none", "additive", "dot") for cell in CELLS)]


def build(kind: str, *, d_model: int = 8, num_layers: int = 2, dropout: float = 0.0, vocabulary_size: int = 23) -> Any:
    sizes: dict[str, Any] = {
        "vocabulary_size": vocabulary_size,
        "d_model": d_model,
        "num_layers": num_layers,
        "dropout": dropout,
    }
    if kind == "convolutional":
        return ConvolutionalTranslator(**sizes, kernel_size=3, max_positions=64)
    attention, cell = kind.split()
    return RecurrentTranslator(**sizes, cell=cell, attention=attention)


def random_tokens(sentences: int, length: int) -> FlatTokens:
    return FlatTokens.of(torch.randint(1, 23, (sentences, length)).tolist())


def test_a_fixed_context_is_the_same_at_every_step() -> None:
    model = build("none gru")
    memory, _ = model.encode(random_tokens(2, 5))
    assert memory.values.shape == (2, 1, 8)


@pytest.mark.parametrize("before", [1, 2])
def test_a_gated_convolution_is_torchs_own_and_its_steps_are_its_positions(before: int) -> None:
    layer = GatedConvolution(d_model=4, kernel_size=3, dropout=0.0).double()
    states = torch.randn(2, 6, 4, dtype=torch.float64)
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
def test_a_batch_of_one_sentence_has_the_gradients_of_double_precision(kind: str) -> None:
    model = build(kind, d_model=16)
    tokens = random_tokens(1, 9)
    gradients = []
    for dtype in (torch.float32, torch.float64):
        model.to(dtype).zero_grad()
        torch.autograd.backward(model.decode(tokens, model.encode(tokens)).square().sum())
        gradients.append([each.grad.double() for each in model.parameters() if each.grad is not None])
    for single, double in zip(*gradients, strict=True):
        torch.testing.assert_close(single, double, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", BASELINES)
def test_a_fresh_model_knows_nothing(kind: str) -> None:
    """It starts near the uniform distribution, whose loss is log(V), and not far above."""
    torch.manual_seed(0)
    model = build(kind, d_model=128, num_layers=3).eval()
    with torch.no_grad():
        logits = model(random_tokens(8, 20), random_tokens(8, 20))
    loss = F.cross_entropy(logits, torch.randint(1, 23, (8 * 20,)))
    assert float(loss) < 1.3 * math.log(23)
