"""Dropout (section 5.4) with masks that cost little on CPUs."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

LEVELS = 2**16
"""Of the 16 random bits that decide about a value."""


class Dropout(nn.Module):
    """Sets values to zero with one probability, and scales the others so that expectations stay.

    On CPUs a mask takes 16 random bits per value, a fifth of the time of torch's own; the probability is rounded to a
    multiple of 2^-16, and the scale follows it. Elsewhere it is torch's own.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability
        self.dropped_levels = min(round(probability * LEVELS), LEVELS - 1)

    def forward(self, values: Tensor) -> Tensor:
        """Drop some of the values, in training; any shape."""
        return self._dropped(values, None)

    def add(self, states: Tensor, values: Tensor) -> Tensor:
        """`states + dropout(values)`, of one shape."""
        return self._dropped(values, states)

    def _dropped(self, values: Tensor, states: Tensor | None) -> Tensor:
        if self.training and self.probability > 0.0:
            if values.device.type == "cpu" and not torch.compiler.is_compiling():
                scale = LEVELS / (LEVELS - self.dropped_levels)
                kept = _kept(values.shape, self.dropped_levels)
                result: Tensor = _Drop.apply(values, states, kept, scale)  # type: ignore[no-untyped-call]
                return result
            values = F.dropout(values, self.probability)
        return values if states is None else states + values


class _Drop(torch.autograd.Function):
    """`states + scale * kept * values`, with `kept` in bytes: autograd itself would keep four times as much."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, states: Tensor | None, kept: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(kept)
        ctx.scale, ctx.is_added = scale, states is not None
        dropped = values * kept
        return dropped.mul_(scale) if states is None else torch.add(states, dropped, alpha=scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        (kept,) = ctx.saved_tensors
        return (gradient * kept).mul_(ctx.scale), gradient if ctx.is_added else None, None, None


def _kept(shape: torch.Size, dropped_levels: int) -> Tensor:
    """Which values are kept: uint8, 1 or 0."""
    count = shape.numel()
    words = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None)
    draws = words.view(torch.int16)[:count].view(shape)  # uniform from -LEVELS / 2 on
    return (draws >= dropped_levels - LEVELS // 2).view(torch.uint8)
