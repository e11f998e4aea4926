"""Batches without their padding: only attention needs to know which positions make a sentence."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Ways:
    """Gather indices between padded and packed positions."""

    count: int
    """Real positions."""
    rows: Tensor
    """Place of each packed position in the flattened batch, int64 `[positions]`."""
    slots: Tensor
    """The inverse, int64 `[batch * length]`: a pad becomes a copy of the real position before it."""


@dataclass(frozen=True)
class Packing:
    """The positions of a padded batch, and the conversion between its two forms.

    Padded is `[batch, length, ...]`, with pads at the ends of sentences; packed is `[positions, ...]`, the real
    positions of one sentence after those of another, then fillers: copies of the first position that are never read.
    Layers that treat positions alone work on packed ones, which saves the 2 to 4% of a batch that are pads; attention
    needs padded ones. On a GPU, all positions are treated as real: checking for padding would force a sync.
    """

    batch: int
    length: int
    is_real: Tensor | None
    """Bool `[batch, length]`; None without pads."""
    ways: Ways | None = None
    """None if all positions stay."""

    @classmethod
    def unlooked(cls, is_real: Tensor) -> Self:
        """Keep all positions and only hide the pads; argument as for `of`."""
        batch, length = is_real.shape
        return cls(batch, length, is_real)

    @classmethod
    def of(cls, is_real: Tensor, *, multiple: int = 1) -> Self:
        """The packing of a batch whose sentences, bool `[batch, length]` with True = real, all have a real position.

        Fillers make the number of packed positions a multiple of `multiple`.
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
        """Hides pads from every query, bool `[batch, 1, 1, length]`; None without pads."""
        return None if self.is_real is None else self.is_real[:, None, None, :]

    def pack(self, padded: Tensor) -> Tensor:
        """`[batch, length, ...]` to `[positions, ...]`."""
        flat = padded.flatten(0, 1)
        if self.ways is None:
            return flat
        packed: Tensor = _Pack.apply(flat, self.ways)  # type: ignore[no-untyped-call]
        return packed

    def pack_targets(self, targets: Tensor, *, pad_id: int) -> Tensor:
        """Pack targets int64 `[batch, length]`; fillers get `pad_id`."""
        packed = self.pack(targets)
        if self.ways is not None:
            packed[self.ways.count :] = pad_id
        return packed

    def unpack(self, packed: Tensor) -> Tensor:
        """`[positions, ...]` to `[batch, length, ...]`; pads get finite values without gradient."""
        if self.ways is not None:
            packed = _Unpack.apply(packed, self.ways)  # type: ignore[no-untyped-call]
        return torch.unflatten(packed, 0, (self.batch, self.length))

    def columns(self) -> Tensor | None:
        """Position of each packed one in its sentence, int64 `[positions]`; None if all positions stay."""
        return None if self.ways is None else self.ways.rows % self.length


class Packed(NamedTuple):
    """States of a batch's positions."""

    states: Tensor
    """`[positions, d_model]`."""
    packing: Packing


class _Pack(torch.autograd.Function):
    """Rows of a tensor. Autograd would add gradients row by row; here each row is taken once, fillers aside."""

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
    """The rows of a tensor at their slots; pads and fillers have no gradients."""

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
