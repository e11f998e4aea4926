"""Dropout (section 5.4) with masks that cost little on CPUs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

    def __init__(self, probability: float, *, is_summand: bool = False) -> None:
        """With `is_summand`, results serve only for a sum `x + dropout(values)`, which may be made without them."""
        super().__init__()
        self.probability, self.is_summand = probability, is_summand
        self.dropped_levels = min(round(probability * LEVELS), LEVELS - 1)

    def forward(self, values: Tensor) -> "Tensor | _Summand":
        """Drop some of the values, in training; any shape."""
        if not self.training or self.probability == 0.0:
            return values
        if values.device.type != "cpu" or torch.compiler.is_compiling():
            return F.dropout(values, self.probability)
        dropped = _Summand(values, _kept(values.shape, self.dropped_levels), LEVELS / (LEVELS - self.dropped_levels))
        return dropped if self.is_summand else 0.0 + dropped


@dataclass(frozen=True)
class _Summand:
    """Dropped values that are still to be computed: `x + summand` makes one tensor of them instead of two."""

    values: Tensor
    kept: Tensor
    scale: float

    def __radd__(self, other: Tensor | float) -> Tensor:
        states = other if isinstance(other, Tensor) else None
        result: Tensor = _Drop.apply(self.values, states, self.kept, self.scale)  # type: ignore[no-untyped-call]
        return result

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Tensor:
        """Take over `x + summand`; without it, a tensor would first fail to add, which takes 30 microseconds."""
        assert func is Tensor.add, "a summand serves only for a sum"
        total: Tensor = args[1].__radd__(args[0])
        return total


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
