"""Positional encodings (section 3.5): sinusoids, or the learned table of Table 3's row (E)."""

import torch
from torch import Tensor, nn

from aiayn.config.errors import UserError
from aiayn.models.initialization import table


class SinusoidalPositions(nn.Module):
    """Sinusoids of wavelengths from 2 pi to 10000 * 2 pi. They have no parameters and no end.

    Rows beyond `max_positions` are computed when asked for and not kept: a buffer that grew on one rank alone would
    part it from the others.
    """

    end = None
    """They have none."""

    def __init__(self, *, max_positions: int, d_model: int) -> None:
        super().__init__()
        if d_model % 2:
            raise UserError(f"model.d_model={d_model}: must be even with model.positions=sinusoidal")
        self.d_model = d_model
        self.table: Tensor
        self.register_buffer("table", sinusoids(0, max_positions, d_model), persistent=False)

    def forward(self, length: int, *, start: int = 0) -> Tensor:
        """The encodings of `length` positions from `start` on, `[length, d_model]`."""
        if start + length <= len(self.table):
            return self.table[start : start + length]
        return sinusoids(start, length, self.d_model).to(self.table)


class LearnedPositions(nn.Module):
    """One learned vector for each of `max_positions` positions (row E; Gehring et al. 2017)."""

    def __init__(self, *, max_positions: int, d_model: int) -> None:
        super().__init__()
        self.table = table(max_positions, d_model)
        self.end = max_positions

    def forward(self, length: int, *, start: int = 0) -> Tensor:
        """The vectors of `length` positions from `start` on, `[length, d_model]`.

        Raises:
            UserError: the table ends before.
        """
        end = start + length
        if end > len(self.table):
            raise UserError(
                f"model.max_positions={len(self.table)}: too few for {end} tokens; learned positions end there, so "
                "train with more, shorten the sentences or take model.positions=sinusoidal"
            )
        return self.table[start:end]


def sinusoids(start: int, length: int, d_model: int) -> Tensor:
    """Encodings of positions from `start` on, float32 `[length, d_model]`; `d_model` is even.

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)) and PE(pos, 2i + 1) the cosine of the same angle (section 3.5):
    interleaved as printed, where the authors' code set all sines before all cosines.
    """
    # In float64 and rounded once: in float32 the angles of late positions alone lose four digits.
    positions = torch.arange(start, start + length, dtype=torch.float64)
    wavelengths = 10000.0 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions[:, None] / wavelengths
    return (
        torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()
    )  # [length, d_model / 2, 2] -> as printed
