"""Models and batches small enough for every test of models."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from tiny import ARCHITECTURE
from torch import Tensor, nn

from aiayn.builders.models import create_transformer
from aiayn.config.model_schema import TransformerConfig
from aiayn.flat_tokens import FlatTokens, Layout
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel
from aiayn.training.loss import output_losses


def architecture(**changes: Any) -> TransformerConfig:
    return replace(ARCHITECTURE, **changes)


def build(**changes: Any) -> Transformer:
    """The tiny Transformer with some settings changed, and random biases and gains, so that mistakes in them show."""
    model = create_transformer(architecture(**changes), rows=23)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=float(parameter.detach().mean()), std=0.3)
    return model


def sentences(*lengths: int) -> FlatTokens:
    """A batch of random sentences."""
    return FlatTokens.of([torch.randint(1, 23, (length,)).tolist() for length in lengths])


def lines(batch: FlatTokens) -> list[list[int]]:
    """The sentences of a batch, without its fillers."""
    each = batch.layout.offsets.diff().tolist()
    return [ids.tolist() for ids in torch.split(batch.ids, each)[:-1]]


def chosen(batch: FlatTokens, rows: Iterable[int]) -> FlatTokens:
    """Some sentences of a batch."""
    every = lines(batch)
    return FlatTokens.of([every[row] for row in rows])


def filled(batch: FlatTokens, fillers: int) -> FlatTokens:
    """The same sentences with random fillers behind them."""
    each = lines(batch)
    ids = [token for line in each for token in line]
    layout = Layout.of([len(line) for line in each], fillers=fillers)
    return FlatTokens(torch.tensor([*ids, *torch.randint(23, (fillers,)).tolist()]), layout)


def loss_and_gradients(
    model: TranslationModel[Any], source: FlatTokens, target: FlatTokens
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Of a training step whose target is its own input, summed over tokens."""
    states = model.states(source, target)
    weight, bias = model.output_weight, model.output_bias
    loss = output_losses(states, weight, target.ids, label_smoothing=0.1, bias=bias).smoothed
    return loss, torch.autograd.grad(loss, list(model.parameters()))


def states_and_gradients(model: TranslationModel[Any], source: FlatTokens, target: FlatTokens) -> list[Tensor]:
    """The decoder's states of the tokens of sentences, and gradients of a weighted sum of these states."""
    states = model.states(source, target)[: len(target.ids) - target.layout.fillers]
    weights = torch.linspace(1, 2, states.numel(), dtype=states.dtype, device=states.device).view_as(states)
    return [states.detach(), *torch.autograd.grad((states * weights).sum(), list(model.parameters()))]
