"""Models and batches small enough for every test of models."""

from dataclasses import replace
from typing import Any

import torch
from tiny import ARCHITECTURE
from torch import Tensor, nn

from aiayn.models.architecture import Architecture
from aiayn.models.transformer import Transformer


def architecture(**changes: Any) -> Architecture:
    return replace(ARCHITECTURE, **changes)


def build(**changes: Any) -> Transformer:
    """The tiny Transformer with some settings changed, and random biases and gains, so that mistakes in them show."""
    model = Transformer(architecture(**changes), vocabulary_size=23)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=float(parameter.detach().mean()), std=0.3)
    return model


def sentences(*lengths: int) -> Tensor:
    """A batch of random real tokens, pads at the ends."""
    batch = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in zip(batch, lengths, strict=True):
        row[:length] = torch.randint(1, 23, (length,))
    return batch
