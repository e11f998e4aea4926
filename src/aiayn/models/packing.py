"""Batches without their padding: only attention has to see which positions make a sentence."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable


@dataclass(frozen=True)
class Packing:
    """How positions lie in a padded batch, and the way between its two forms.

    Padded is `[batch, length, ...]`, with pads at the ends of sentences; packed is `[positions, ...]`, the real
    positions of one sentence after those of another. All that treats positions alone works on packed ones, which saves
    the 2 to 4% of a batch that are pads; attention asks for padded ones. Where nothing is padded, or where to look for
    pads would have to wait for a device, all positions are taken as real and both ways are a view.
    """

    batch: int
    length: int
    is_real: Tensor | None
    """Bool `[batch, length]`, True = real; None where no position is a pad."""
    rows: Tensor | None = None
    """Where each packed position lies in the flattened batch, int64 `[positions]`; None where all positions stay."""
    slots: Tensor | None = None
    """The way back, int64 `[batch * length]`: a pad becomes a copy of the real position before it."""

    @classmethod
    def of(cls, is_real: Tensor) -> Self:
        """The packing of a batch, from bool `[batch, length]`, True = real; every sentence has a real position."""
        batch, length = is_real.shape
        if is_real.device.type != "cpu" or torch.compiler.is_compiling():
            return cls(batch, length, is_real)
        if bool(is_real.all()):
            return cls(batch, length, None)
        flat = is_real.flatten()
        return cls(batch, length, is_real, rows=flat.nonzero().squeeze(1), slots=(flat.cumsum(0) - 1).clamp_(min=0))

    @property
    def mask(self) -> Tensor | None:
        """What hides pads from every query, bool `[batch, 1, 1, length]`; None where there is nothing to hide."""
        return None if self.is_real is None else self.is_real[:, None, None, :]

    def pack(self, padded: Tensor) -> Tensor:
        """`[batch, length, ...]` to `[positions, ...]`."""
        flat = padded.flatten(0, 1)
        if self.rows is None or self.slots is None:
            return flat
        packed: Tensor = _Pack.apply(flat, self.rows)  # type: ignore[no-untyped-call]
        return packed

    def unpack(self, packed: Tensor) -> Tensor:
        """`[positions, ...]` to `[batch, length, ...]`; pads get something finite, and no gradient comes from there."""
        if self.rows is not None and self.slots is not None:
            packed = _Unpack.apply(packed, self.rows, self.slots)  # type: ignore[no-untyped-call]
        return torch.unflatten(packed, 0, (self.batch, self.length))

    def columns(self) -> Tensor | None:
        """Where each packed position stands in its sentence, int64 `[positions]`; None where all positions stay."""
        return None if self.rows is None else self.rows % self.length


class Packed(NamedTuple):
    """States of a batch's positions."""

    states: Tensor
    """`[positions, d_model]`."""
    packing: Packing


class _Pack(torch.autograd.Function):
    """Rows of a tensor. Autograd would add gradients up row by row; here each row is taken once at most."""

    @staticmethod
    def forward(ctx: FunctionCtx, flat: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.count = len(flat)  # type: ignore[attr-defined]
        return flat.index_select(0, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        flat = gradient.new_zeros(ctx.count, *gradient.shape[1:])
        return flat.index_copy_(0, rows, gradient), None


class _Unpack(torch.autograd.Function):
    """The rows of a tensor at their slots. Pads are copies, and nothing reads them: only rows have gradients."""

    @staticmethod
    def forward(ctx: FunctionCtx, packed: Tensor, rows: Tensor, slots: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        return packed.index_select(0, slots)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (rows,) = ctx.saved_tensors
        return gradient.index_select(0, rows), None, None
