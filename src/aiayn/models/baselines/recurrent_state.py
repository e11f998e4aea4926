"""The state of a recurrent decoder between two steps of a search."""

from typing import NamedTuple

import torch
from torch import Tensor

from aiayn.models.decoder_state import joined

Hidden = tuple[Tensor, ...]
"""The hidden state of a GRU, or state and cell of an LSTM, each `[num_layers, batch, d_model]`."""


class Memory(NamedTuple):
    """The source as the decoder attends to it."""

    keys: Tensor
    """`[batch, source_len, d_model]`; source_len is 1 where one vector stands for the source."""
    values: Tensor
    is_real: Tensor
    """Bool `[batch, source_len]`, False at pads."""

    def repeated(self, beam: int) -> "Memory":
        """A copy for each beam, those of a sentence side by side."""
        return Memory(*(each.repeat_interleave(beam, dim=0) for each in self))


class RecurrentState:
    """The memory of every beam of every sentence; a search changes it in place.

    Each of `hidden` is `[num_layers, sentences, beam, d_model]`.
    """

    def __init__(self, memory: Memory, hidden: Hidden) -> None:
        self.memory = memory
        self.hidden = hidden

    def reorder(self, beams: Tensor) -> None:
        """Let new beam `j` of sentence `i` continue old beam `beams[i, j]`, int64 `[sentences, new_beam]`."""
        self.hidden = tuple(torch.take_along_dim(each, beams[None, :, :, None], dim=2) for each in self.hidden)

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences, int64 `[kept]`, each at most once, in this order."""
        self.memory = Memory(*(each[sentences] for each in self.memory))
        self.hidden = tuple(each[:, sentences] for each in self.hidden)

    def join(self, other: "RecurrentState") -> None:
        """Append the sentences of another state with as many beams."""
        self.memory = Memory(*(joined(*both, dim=1) for both in zip(self.memory, other.memory, strict=True)))
        self.hidden = tuple(torch.cat(both, dim=1) for both in zip(self.hidden, other.hidden, strict=True))
