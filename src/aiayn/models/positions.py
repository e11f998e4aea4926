"""Positional encodings (section 3.5): sinusoids, the learned table of Table 3's row (E), and others."""

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.errors import UserError
from aiayn.models.initialization import projection, table


class PositionalEncoding(nn.Module, ABC):
    """Tells embeddings where in their sentence they stand."""

    end: int | None = None
    """The most tokens of a sentence; None: any number."""

    @abstractmethod
    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        """Embeddings `[..., d_model]` with their positions, int64 that broadcast to `[...]`, all below `longest`."""


class NoPositions(PositionalEncoding):
    """Embeddings as they are, also where attention itself knows of positions."""

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:  # noqa: ARG002
        """See `PositionalEncoding`."""
        return embedded


class SinusoidalPositions(PositionalEncoding):
    """Adds sinusoids of wavelengths from 2 pi to 10000 * 2 pi, without parameters and without end.

    Rows beyond `max_positions` are computed on demand and not kept: a buffer that grew on one rank alone would differ
    from the others. `in_blocks` takes the layout of the authors' code, see `sinusoids_in_blocks`.
    """

    def __init__(self, *, max_positions: int, d_model: int, in_blocks: bool = False) -> None:
        super().__init__()
        if d_model % 2:
            raise UserError(f"model.d_model={d_model}: must be even with model.positions=sinusoidal")
        self.d_model = d_model
        self.sinusoids = sinusoids_in_blocks if in_blocks else sinusoids
        self.table: Tensor
        self.register_buffer("table", self.sinusoids(torch.arange(max_positions), d_model), persistent=False)

    def encodings(self, positions: Tensor, *, longest: int) -> Tensor:
        """PE(pos), `[..., d_model]`; arguments as for `forward`."""
        if longest <= len(self.table):
            return F.embedding(positions, self.table)
        return self.sinusoids(positions, self.d_model).to(self.table)

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        """See `PositionalEncoding`."""
        return embedded + self.encodings(positions, longest=longest)


class ConcatenatedPositions(SinusoidalPositions):
    """A linear map of embedding and sinusoids side by side, instead of their sum."""

    def __init__(self, *, max_positions: int, d_model: int) -> None:
        super().__init__(max_positions=max_positions, d_model=d_model)
        self.projection = projection(2 * d_model, d_model, bias=False)

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        """See `PositionalEncoding`."""
        encodings = self.encodings(positions, longest=longest).expand_as(embedded)
        result: Tensor = self.projection(torch.cat([embedded, encodings], dim=-1))
        return result


class LearnedPositions(PositionalEncoding):
    """Adds a learned vector for each of `max_positions` positions (row E; Gehring et al. 2017)."""

    def __init__(self, *, max_positions: int, d_model: int) -> None:
        super().__init__()
        self.table = table(max_positions, d_model)
        self.end = max_positions

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        """See `PositionalEncoding`; UserError beyond the table."""
        if longest > len(self.table):
            raise UserError(
                f"model.max_positions={len(self.table)}: too few for {longest} tokens; learned positions end there, so "
                "train with more, shorten the sentences or take model.positions=sinusoidal"
            )
        return embedded + F.embedding(positions, self.table)


class RotaryPositions(nn.Module):
    """Rotates queries and keys by their positions, so that their products depend on distances (Su et al. 2021)."""

    def __init__(self, d_k: int) -> None:
        super().__init__()
        self.wavelengths: Tensor
        self.register_buffer("wavelengths", _wavelengths(d_k).float(), persistent=False)

    def forward(self, heads: Tensor, positions: Tensor) -> Tensor:
        """Rotate each pair of coordinates 2i and 2i + 1 of `[..., num_heads, d_k]`, at int64 positions `[...]`."""
        angles = positions[..., None, None].to(self.wavelengths.dtype) / self.wavelengths
        sine, cosine = angles.sin(), angles.cos()
        even, odd = heads[..., 0::2], heads[..., 1::2]
        return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1).flatten(-2)


def positional_encoding(name: str, *, max_positions: int, d_model: int) -> PositionalEncoding:
    """The positional encoding of `model.positions`, initialised with torch's generator."""
    match name:
        case "none" | "rotary":  # rotary positions are applied by self-attention
            return NoPositions()
        case "learned":
            return LearnedPositions(max_positions=max_positions, d_model=d_model)
        case "concatenated":
            return ConcatenatedPositions(max_positions=max_positions, d_model=d_model)
    return SinusoidalPositions(max_positions=max_positions, d_model=d_model, in_blocks=name == "sinusoidal_blocks")


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model)) (section 3.5).

    Float32 `[..., d_model]` of integers `[...]`; `d_model` is even. Interleaved as printed; the authors' code has all
    sines before all cosines.
    """
    # In float64 and rounded once: in float32 the angles of late positions alone lose four digits.
    angles = positions.double().unsqueeze(-1) / _wavelengths(d_model).to(positions.device)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


def sinusoids_in_blocks(positions: Tensor, d_model: int) -> Tensor:
    """As in the authors' code: all sines, then all cosines, exponents i / (d_model / 2 - 1)."""
    half = d_model // 2
    wavelengths = 10000.0 ** (torch.arange(half, dtype=torch.float64) / max(1, half - 1))
    angles = positions.double().unsqueeze(-1) / wavelengths.to(positions.device)
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()


def _wavelengths(width: int) -> Tensor:
    """10000^(2i / width), float64 `[width / 2]`, without the factor 2 pi."""
    return 10000.0 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
