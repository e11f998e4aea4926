"""A step's gradient is that of the loss per target token, however it is split into micro-batches."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import RECIPE
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend
from torch.nn.functional import cross_entropy
from training_step import TrainingStep

from aiayn.builders.models import create_transformer
from aiayn.config.model_schema import TransformerConfig
from aiayn.data.batches.collation import IGNORED, TranslationBatch, collate
from aiayn.data.batches.sentences import PairsInMemory, Sentences
from aiayn.models.transformer import Transformer
from aiayn.training.loss import output_losses
from aiayn.training.module import TranslationModule
from aiayn.training.schedule import learning_rate

BOS, EOS, ENTRIES = 1, 2, 12
LENGTHS = (2, 3, 40)
"""Target tokens of three sentences, end marks included."""

Gradients = dict[str, Tensor]


@pytest.fixture
def module(architecture: TransformerConfig) -> TranslationModule:
    return module_of(architecture)


def module_of(architecture: TransformerConfig) -> TranslationModule:
    torch.manual_seed(3)
    return TranslationModule(
        model=create_transformer(dataclasses.replace(architecture, dropout=0.0), rows=ENTRIES),
        recipe=RECIPE,
        seed=1,
        log_interval=1,
        provenance={},
    )


@pytest.fixture(scope="module")
def pairs() -> PairsInMemory:
    rng = np.random.default_rng(5)
    side = Sentences.of([rng.integers(3, ENTRIES, length - 1).tolist() for length in LENGTHS], eos_id=EOS)
    return PairsInMemory(side, side)


def micro_batch(pairs: PairsInMemory, *sentences: int, multiple: int = 1) -> TranslationBatch:
    """Some of the sentences, as part of a step that has all of them."""
    tokens = sum(LENGTHS)
    numbers = np.array(sentences, np.int64)
    return collate(
        pairs, numbers, start_id=BOS, step_source_tokens=tokens, step_target_tokens=tokens, multiple=multiple
    )


def by_hand(module: TranslationModule, loss: Tensor) -> Gradients:
    named = dict(module.model.named_parameters())
    return dict(zip(named, torch.autograd.grad(loss, list(named.values())), strict=True))


def loss_of(module: TranslationModule, batch: TranslationBatch, *, reduction: str) -> Tensor:
    scores = module.model(batch.source, batch.target_input)
    expected = batch.target_output
    return cross_entropy(scores, expected, ignore_index=IGNORED, label_smoothing=0.1, reduction=reduction)


@pytest.mark.parametrize("multiple", [1, 8])
@pytest.mark.parametrize("parts", [[(0, 1, 2)], [(0,), (1,), (2,)], [(2,), (0, 1)], [(2, 0), (), (1,), ()]])
def test_every_token_of_a_step_has_the_same_weight_in_unequal_micro_batches(
    module: TranslationModule, pairs: PairsInMemory, parts: list[tuple[int, ...]], multiple: int, tmp_path: Path
) -> None:
    expected = by_hand(module, loss_of(module, micro_batch(pairs, 0, 1, 2), reduction="mean"))
    batches = [micro_batch(pairs, *part, multiple=multiple) for part in parts]
    gradients = TrainingStep(module, batches, tmp_path).gradients
    assert gradients.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(gradients[name], gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("multiple", [pytest.param(1, marks=pytest.mark.long), 64])
@pytest.mark.filterwarnings("ignore:.*torch.autograd.function.Function.* should not be instantiated")  # Dynamo does
def test_a_compiled_model_makes_the_same_gradients_and_few_graphs_serve_all_shapes(
    architecture: TransformerConfig, pairs: PairsInMemory, multiple: int
) -> None:
    module = module_of(dataclasses.replace(architecture, num_layers=1))  # each takes as long to compile
    counter = CompileCounterWithBackend("eager")
    assert isinstance(module.model, Transformer)
    compiled = torch.compile(module.model.states, dynamic=True, backend=counter)
    for sentences in ([0, 1], [2], [0, 1, 2], [1], [2, 1], [0, 0, 0, 1], [2, 2, 2, 2, 2]):
        batch = micro_batch(pairs, *sentences, multiple=multiple)
        plain = by_hand(module, loss_of(module, batch, reduction="sum"))
        states, weight = compiled(batch.source, batch.target_input), module.model.output_weight
        losses = output_losses(states, weight, batch.target_output, label_smoothing=0.1)
        ours = by_hand(module, losses.smoothed)
        for name, gradient in plain.items():
            torch.testing.assert_close(ours[name], gradient, rtol=1e-5, atol=1e-5)
    assert 0 < counter.frame_count <= 4  # a batch of one sentence has a graph of its own


def test_the_optimizer_follows_the_schedule_from_its_first_step(module: TranslationModule) -> None:
    configured = module.configure_optimizers()
    optimizer, scheduler = configured["optimizer"], configured["lr_scheduler"]["scheduler"]  # type: ignore[index]
    for step in range(1, 15):
        rate = learning_rate(step, d_model=16, warmup_steps=10)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(rate)
        optimizer.step()
        scheduler.step()
