"""Token ids without padding: sentences end to end; `models.transformer` has a picture."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Layout(NamedTuple):
    """The places of sentences in a flat tensor `[tokens, ...]`, one after another.

    The last `fillers` tokens belong to no sentence; they make the number of tokens a convenient one. No sentence is
    empty. The sizes are Python numbers, so that reading them never synchronises with a device.
    """

    positions: Tensor
    """int64 `[tokens]`: the position of each token in its sentence, from 0; 0 for fillers."""
    offsets: Tensor
    """int32 `[sentences + 2]`: the first token of each sentence and of the fillers, and the end; `cu_seqlens` of
    attention kernels."""
    sentences: int
    longest: int
    """Tokens of the longest sentence."""
    fillers: int = 0

    @classmethod
    def of(cls, lengths: Sequence[int] | NDArray[np.integer[Any]], *, fillers: int = 0) -> Self:
        """The layout of one or more sentences of these lengths."""
        each = np.append(lengths, fillers)
        offsets = np.zeros(len(each) + 1, np.int32)
        np.cumsum(each, out=offsets[1:])
        positions = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], each)
        positions[len(positions) - fillers :] = 0
        longest = int(each[:-1].max())
        return cls(torch.from_numpy(positions), torch.from_numpy(offsets), len(lengths), longest, fillers)


class FlatTokens(NamedTuple):
    """Sentences end to end; the last ids may be fillers, see `Layout`."""

    ids: Tensor
    """int64 `[tokens]`."""
    layout: Layout

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> Self:
        """Sentences given as token ids, each at least 1 long."""
        layout = Layout.of([len(ids) for ids in sentences])
        return cls(torch.tensor([each for ids in sentences for each in ids]), layout)

    def changed(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Change each tensor, as by moving it to another device."""
        layout = self.layout
        moved = layout._replace(positions=change(layout.positions), offsets=change(layout.offsets))
        return type(self)(change(self.ids), moved)

    def to(self, device: torch.device | str) -> Self:
        """The tokens on a device."""
        return self.changed(lambda tensor: tensor.to(device))
