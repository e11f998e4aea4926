"""The padded form of a flat tensor, for layers that work on whole sentences."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from aiayn.flat_tokens import Layout


class PaddedView:
    """Converts between `[tokens, ...]` and `[sentences, longest, ...]`, where pads follow a sentence's tokens."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.count = len(layout.positions) - layout.fillers
        self.is_full = self.count == layout.sentences * layout.longest
        """Whether there are no pads: all sentences are equally long."""
        starts, ends = layout.offsets[:-2].unsqueeze(1), layout.offsets[1:-1].unsqueeze(1)
        places = starts + torch.arange(layout.longest, device=starts.device)
        self.is_token = places < ends
        """Bool `[sentences, longest]`, False at pads."""
        self.mask = None if self.is_full else self.is_token
        """`is_token`, or None without pads."""
        self.to_padded = torch.minimum(places, ends - 1).flatten()
        """The token at each place of the padded form, int64 `[sentences * longest]`; pads repeat their
        sentence's last token."""
        tokens = torch.arange(len(layout.positions), device=starts.device)
        sentence = torch.bucketize(tokens, layout.offsets[1:-1], right=True).clamp(max=layout.sentences - 1)
        self.to_flat = sentence * layout.longest + layout.positions
        """The place of each token in the padded form, int64 `[tokens]`; fillers have that of another token."""

    def pad(self, flat: Tensor) -> Tensor:
        """`[tokens, ...]` to `[sentences, longest, ...]`; pads repeat their sentence's last token, without gradient."""
        if not self.is_full:
            flat = _Pad.apply(flat, self)  # type: ignore[no-untyped-call]
        elif self.layout.fillers:
            flat = flat[: self.count]
        return torch.unflatten(flat, 0, (self.layout.sentences, self.layout.longest))

    def flatten(self, padded: Tensor) -> Tensor:
        """`[sentences, longest, ...]` to `[tokens, ...]`; fillers get values of other tokens, without gradient."""
        flat = padded.flatten(0, 1)
        if self.is_full and not self.layout.fillers:
            return flat
        tokens: Tensor = _Flatten.apply(flat, self)  # type: ignore[no-untyped-call]
        return tokens


class _Pad(torch.autograd.Function):
    """Rows of a flat tensor. Autograd would add gradients row by row; here each token is taken once, pads aside."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, view: PaddedView) -> Tensor:
        ctx.view = view
        return flat.index_select(0, view.to_padded)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        flat = gradient.index_select(0, ctx.view.to_flat)
        flat[ctx.view.count :] = 0
        return flat, None


class _Flatten(torch.autograd.Function):
    """Rows of a padded tensor, with the same saving."""

    @staticmethod
    def forward(ctx: Any, padded: Tensor, view: PaddedView) -> Tensor:
        ctx.view = view
        return padded.index_select(0, view.to_flat)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        padded = gradient.index_select(0, ctx.view.to_padded)
        is_pad = ~ctx.view.is_token.view(-1, *[1] * (padded.dim() - 1))
        return padded.masked_fill_(is_pad, 0), None
