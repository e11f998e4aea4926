"""Batches without their padding: only attention has to see which positions make a sentence."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Ways:
    """Both ways between padded and packed positions."""

    count: int
    """Real positions."""
    rows: Tensor
    """Where each packed position lies in the flattened batch, int64 `[positions]`."""
    slots: Tensor
    """The way back, int64 `[batch * length]`: a pad becomes a copy of the real position before it."""


@dataclass(frozen=True)
class Packing:
    """How positions lie in a padded batch, and the way between its two forms.

    Padded is `[batch, length, ...]`, with pads at the ends of sentences; packed is `[positions, ...]`, the real
    positions of one sentence after those of another. All that treats positions alone works on packed ones, which saves
    the 2 to 4% of a batch that are pads; attention asks for padded ones. Where to look for pads would have to wait for
    a device all positions are taken as real, and both ways are a view.

    Behind the real positions there may be fillers: copies of the first one that nobody reads.
    """

    batch: int
    length: int
    is_real: Tensor | None
    """Bool `[batch, length]`, True = real; None where no position is a pad."""
    ways: Ways | None = None
    """None where all positions stay."""

    @classmethod
    def unlooked(cls, is_real: Tensor) -> Self:
        """One that keeps all positions and only hides the pads; argument as for `of`."""
        batch, length = is_real.shape
        return cls(batch, length, is_real)

    @classmethod
    def of(cls, is_real: Tensor, *, multiple: int = 1) -> Self:
        """The packing of a batch.

        Args:
            is_real: bool `[batch, length]`, True = real; every sentence has a real position.
            multiple: fillers make the number of packed positions one of this.
        """
        batch, length = is_real.shape
        if is_real.device.type != "cpu":
            return cls.unlooked(is_real)
        is_whole = bool(is_real.all())
        if is_whole and is_real.numel() % multiple == 0:
            return cls(batch, length, None)
        flat = is_real.flatten()
        real = flat.nonzero().squeeze(1)
        rows = torch.cat([real, real[:1].expand(-len(real) % multiple)])
        ways = Ways(len(real), rows, slots=(flat.cumsum(0) - 1).clamp_(min=0))
        return cls(batch, length, None if is_whole else is_real, ways)

    @property
    def mask(self) -> Tensor | None:
        """What hides pads from every query, bool `[batch, 1, 1, length]`; None where there is nothing to hide."""
        return None if self.is_real is None else self.is_real[:, None, None, :]

    def pack(self, padded: Tensor) -> Tensor:
        """`[batch, length, ...]` to `[positions, ...]`."""
        flat = padded.flatten(0, 1)
        if self.ways is None:
            return flat
        packed: Tensor = _Pack.apply(flat, self.ways)  # type: ignore[no-untyped-call]
        return packed

    def pack_targets(self, targets: Tensor, *, pad_id: int) -> Tensor:
        """Pack what is to be predicted, int64 `[batch, length]`; nothing is at fillers."""
        packed = self.pack(targets)
        if self.ways is not None:
            packed[self.ways.count :] = pad_id
        return packed

    def unpack(self, packed: Tensor) -> Tensor:
        """`[positions, ...]` to `[batch, length, ...]`; pads get something finite, and no gradient comes from there."""
        if self.ways is not None:
            packed = _Unpack.apply(packed, self.ways)  # type: ignore[no-untyped-call]
        return torch.unflatten(packed, 0, (self.batch, self.length))

    def columns(self) -> Tensor | None:
        """Where each packed position stands in its sentence, int64 `[positions]`; None where all positions stay."""
        return None if self.ways is None else self.ways.rows % self.length


class Packed(NamedTuple):
    """States of a batch's positions."""

    states: Tensor
    """`[positions, d_model]`."""
    packing: Packing


class _Pack(torch.autograd.Function):
    """Rows of a tensor. Autograd would add gradients up row by row; here each row is taken once, fillers aside."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, ways: Ways) -> Tensor:
        ctx.ways, ctx.length = ways, len(flat)
        return flat.index_select(0, ways.rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        flat, count = gradient.new_zeros(ctx.length, *gradient.shape[1:]), ctx.ways.count
        return flat.index_copy_(0, ctx.ways.rows[:count], gradient[:count]), None


class _Unpack(torch.autograd.Function):
    """The rows of a tensor at their slots. Nothing reads pads and fillers: they have no gradients."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, ways: Ways) -> Tensor:
        ctx.ways = ways
        return packed.index_select(0, ways.slots)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        packed = gradient.index_select(0, ctx.ways.rows)
        packed[ctx.ways.count :] = 0
        return packed, None
