"""Positional encodings (section 3.5): sinusoids, the learned table of Table 3's row (E), and others."""

import torch
from torch import Tensor, nn

from aiayn.errors import UserError
from aiayn.models.architecture import Architecture
from aiayn.models.initialization import table


class SinusoidalPositions(nn.Module):
    """Sinusoids of wavelengths from 2 pi to 10000 * 2 pi, without parameters and without end.

    Rows beyond `max_positions` are computed on demand and not kept: a buffer that grew on one rank alone would differ
    from the others. `in_blocks` takes the layout of the authors' code, see `sinusoids_in_blocks`.
    """

    end = None

    def __init__(self, *, max_positions: int, d_model: int, in_blocks: bool = False) -> None:
        super().__init__()
        if d_model % 2:
            raise UserError(f"model.d_model={d_model}: must be even with model.positions=sinusoidal")
        self.d_model = d_model
        self.make = sinusoids_in_blocks if in_blocks else sinusoids
        self.table: Tensor
        self.register_buffer("table", self.make(0, max_positions, d_model), persistent=False)

    def forward(self, length: int, *, start: int = 0) -> Tensor:
        """The encodings of `length` positions from `start` on, `[length, d_model]`."""
        if start + length <= len(self.table):
            return self.table[start : start + length]
        return self.make(start, length, self.d_model).to(self.table)


class LearnedPositions(nn.Module):
    """One learned vector for each of `max_positions` positions (row E; Gehring et al. 2017)."""

    def __init__(self, *, max_positions: int, d_model: int) -> None:
        super().__init__()
        self.table = table(max_positions, d_model)
        self.end = max_positions

    def forward(self, length: int, *, start: int = 0) -> Tensor:
        """The vectors of `length` positions from `start` on, `[length, d_model]`; UserError beyond the table."""
        end = start + length
        if end > len(self.table):
            raise UserError(
                f"model.max_positions={len(self.table)}: too few for {end} tokens; learned positions end there, so "
                "train with more, shorten the sentences or take model.positions=sinusoidal"
            )
        return self.table[start:end]


class RotaryPositions(nn.Module):
    """Angles by which queries and keys are rotated, so that their products depend on distances (Su et al. 2021)."""

    def __init__(self, d_k: int) -> None:
        super().__init__()
        self.d_k = d_k
        self.wavelengths: Tensor
        wavelengths = 10000.0 ** (torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
        self.register_buffer("wavelengths", wavelengths.float(), persistent=False)

    def forward(self, columns: Tensor) -> Tensor:
        """Sines and cosines of the angles at int64 columns `[...]`, float `[..., 2, d_k / 2]`."""
        angles = columns.to(self.wavelengths.dtype).unsqueeze(-1) / self.wavelengths
        return torch.stack([angles.sin(), angles.cos()], dim=-2)


def turned(states: Tensor, angles: Tensor) -> Tensor:
    """Rotate each pair of coordinates 2i and 2i + 1 of queries or keys `[..., length, d_k]`.

    `angles`, from `RotaryPositions`, are broadcast to `[..., length, 2, d_k / 2]`.
    """
    sine, cosine = angles.unbind(dim=-2)
    even, odd = states[..., 0::2], states[..., 1::2]
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1).flatten(-2)


def positions_table(architecture: Architecture) -> SinusoidalPositions | LearnedPositions | None:
    """The positions that are added to the embeddings or concatenated with them; None for others."""
    kind, sizes = architecture.positions, {"max_positions": architecture.max_positions, "d_model": architecture.d_model}
    if kind == "learned":
        return LearnedPositions(**sizes)
    if kind in ("none", "rotary"):
        return None
    return SinusoidalPositions(**sizes, in_blocks=kind == "sinusoidal_blocks")


def sinusoids(start: int, length: int, d_model: int) -> Tensor:
    """Encodings of positions from `start` on, float32 `[length, d_model]`; `d_model` is even.

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)) and PE(pos, 2i + 1) the cosine of the same angle (section 3.5):
    interleaved as printed; the authors' code has all sines before all cosines.
    """
    # In float64 and rounded once: in float32 the angles of late positions alone lose four digits.
    positions = torch.arange(start, start + length, dtype=torch.float64)
    wavelengths = 10000.0 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions[:, None] / wavelengths
    return (
        torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()
    )  # [length, d_model / 2, 2] -> as printed


def sinusoids_in_blocks(start: int, length: int, d_model: int) -> Tensor:
    """As in the authors' code: all sines, then all cosines, exponents i / (d_model / 2 - 1)."""
    half = d_model // 2
    positions = torch.arange(start, start + length, dtype=torch.float64)
    wavelengths = 10000.0 ** (torch.arange(half, dtype=torch.float64) / max(1, half - 1))
    angles = positions[:, None] / wavelengths
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()
