"""Positional encodings beside sinusoids, and the choice of `model.positions`."""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.errors import UserError
from aiayn.models.initialization import projection, table
from aiayn.models.positions import PositionalEncoding, SinusoidalPositions, wavelengths
from aiayn.system.plugins import create


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


class NoPositions(PositionalEncoding):
    """Embeddings as they are, also with rotary positions, which self-attention applies."""

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:  # noqa: ARG002
        """See `PositionalEncoding`."""
        return embedded


class ConcatenatedPositions(SinusoidalPositions):
    """A linear map of embedding and sinusoids side by side, instead of their sum."""

    def __init__(self, *, max_positions: int, d_model: int, offset: int = 0) -> None:
        super().__init__(max_positions=max_positions, d_model=d_model, offset=offset)
        self.projection = projection(2 * d_model, d_model, bias=False)

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        """See `PositionalEncoding`."""
        encodings = self.encodings(positions, longest=longest).expand_as(embedded)
        result: Tensor = self.projection(torch.cat([embedded, encodings], dim=-1))
        return result


class RotaryPositions(nn.Module):
    """Rotates queries and keys by their positions, so that their products depend on distances (Su et al. 2021)."""

    def __init__(self, d_k: int) -> None:
        super().__init__()
        self.wavelengths: Tensor
        self.register_buffer("wavelengths", wavelengths(d_k).float(), persistent=False)

    def forward(self, heads: Tensor, positions: Tensor) -> Tensor:
        """Rotate each pair of coordinates 2i and 2i + 1 of `[..., num_heads, d_k]`, at int64 positions `[...]`."""
        angles = positions[..., None, None].to(self.wavelengths.dtype) / self.wavelengths
        sine, cosine = angles.sin(), angles.cos()
        even, odd = heads[..., 0::2], heads[..., 1::2]
        rotated = torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1)
        return rotated.flatten(-2).to(heads.dtype)  # angles are float32 under autocast, too


def positional_encoding(
    name: str, arguments: Mapping[str, Any] | None = None, *, max_positions: int, d_model: int, offset: int = 0
) -> PositionalEncoding:
    """The positional encoding of `model.positions`, initialised with torch's generator.

    `arguments` are those of a user's class, which is named as `module:Class`. `offset` is the first position of
    sinusoids; a learned table does not use it.
    """
    given: dict[str, Any] = {"max_positions": max_positions, "d_model": d_model}
    match name:
        case "sinusoidal":
            return SinusoidalPositions(**given, offset=offset)
        case "none" | "rotary":  # rotary positions are applied by self-attention
            return NoPositions()
        case "learned":
            return LearnedPositions(**given)
        case "concatenated":
            return ConcatenatedPositions(**given, offset=offset)
        case "sinusoidal_blocks":
            return SinusoidalPositions(**given, offset=offset, formula=sinusoids_in_blocks)
    return create(name, key="model.positions", base=PositionalEncoding, given=given, own=arguments or {})  # type: ignore[type-abstract]


def sinusoids_in_blocks(positions: Tensor, d_model: int) -> Tensor:
    """As in the authors' code: all sines, then all cosines, exponents i / (d_model / 2 - 1)."""
    half = d_model // 2
    of_pairs = 10000.0 ** (torch.arange(half, dtype=torch.float64) / max(1, half - 1))
    angles = positions.double().unsqueeze(-1) / of_pairs.to(positions.device)
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()
