"""Positional encodings (section 3.5): sinusoids. Row (E) of Table 3 is `variants.positions.LearnedPositions`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.errors import UserError

Formula: TypeAlias = Callable[[Tensor, int], Tensor]


class PositionalEncoding(nn.Module, ABC):
    """Combines the embeddings of tokens with their positions."""

    end: int | None = None
    """The most tokens of a sentence; None: any number."""

    @abstractmethod
    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        """Combine embeddings `[..., d_model]` with `positions`: int64, less than `longest`, broadcast to `[...]`."""


class SinusoidalPositions(PositionalEncoding):
    """Adds sinusoids of wavelengths from 2 pi to 10000 * 2 pi, for any number of positions and without parameters.

    Rows beyond `max_positions` are computed on demand and not kept: each rank's buffer must keep the same shape. The
    first token of a sentence has position `offset`. `formula` replaces `sinusoids`, with the same shapes.
    """

    def __init__(self, *, max_positions: int, d_model: int, offset: int = 0, formula: Formula | None = None) -> None:
        super().__init__()
        if d_model % 2:
            raise UserError(f"model.d_model={d_model}: must be even with model.positions=sinusoidal")
        self.d_model, self.offset = d_model, offset
        self.sinusoids = formula or sinusoids
        self.table: Tensor
        self.register_buffer("table", self.sinusoids(torch.arange(max_positions) + offset, d_model), persistent=False)

    def encodings(self, positions: Tensor, *, longest: int) -> Tensor:
        """PE(pos), `[..., d_model]`; arguments as for `forward`."""
        if longest <= len(self.table):
            return F.embedding(positions, self.table)
        return self.sinusoids(positions + self.offset, self.d_model).to(self.table)

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        """See `PositionalEncoding`."""
        return embedded + self.encodings(positions, longest=longest)


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model)) (section 3.5).

    Float32 `[..., d_model]` of integers `[...]`; `d_model` is even. Interleaved as printed; the authors' code has all
    sines before all cosines.
    """
    # Computed in float64, then rounded once: in float32, the angles of late positions would lose four digits.
    angles = positions.double().unsqueeze(-1) / wavelengths(d_model).to(positions.device)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


def wavelengths(width: int) -> Tensor:
    """10000^(2i / width), the wavelengths divided by 2 pi, float64 `[width / 2]`."""
    return 10000.0 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
