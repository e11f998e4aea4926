"""A model small enough for every test."""

from dataclasses import replace
from typing import Any, Protocol

import pytest
import torch
from tiny import ARCHITECTURE
from torch import Tensor, nn

from aiayn.models.architecture import Architecture
from aiayn.models.transformer import Transformer


class Build(Protocol):
    """Builds a model with some settings changed."""

    def __call__(self, **changes: Any) -> Transformer: ...


class Settle(Protocol):
    """The tiny architecture with some settings changed."""

    def __call__(self, **changes: Any) -> Architecture: ...


class Sentences(Protocol):
    """Draws a batch of real tokens of the given lengths, pads at the ends."""

    def __call__(self, *lengths: int) -> Tensor: ...


@pytest.fixture(scope="session")
def architecture() -> Settle:
    def architecture(**changes: Any) -> Architecture:
        return replace(ARCHITECTURE, **changes)

    return architecture


@pytest.fixture(scope="session")
def build() -> Build:
    def build(**changes: Any) -> Transformer:
        model = Transformer(replace(ARCHITECTURE, **changes), vocabulary_size=23)
        # Biases and gains start at 0 and 1, where mistakes with them would not show.
        for parameter in model.parameters():
            if parameter.dim() == 1:
                nn.init.normal_(parameter, mean=float(parameter.detach().mean()), std=0.3)
        return model

    return build


@pytest.fixture(scope="session")
def sentences() -> Sentences:
    def sentences(*lengths: int) -> Tensor:
        batch = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
        for row, length in zip(batch, lengths, strict=True):
            row[:length] = torch.randint(1, 23, (length,))
        return batch

    return sentences
