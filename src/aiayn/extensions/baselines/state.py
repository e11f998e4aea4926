"""The state of a baseline's decoder between two steps of a search."""

from typing import NamedTuple

import torch
from torch import Tensor

from aiayn.models.kernels.decoder_state import joined


class SourceMemory(NamedTuple):
    """The source as the decoder attends to it."""

    keys: Tensor
    """`[batch, source_len, d_model]`; source_len is 1 where one vector stands for the source."""
    values: Tensor
    is_real: Tensor
    """Bool `[batch, source_len]`, False at pads."""

    def repeated(self, beam: int) -> "SourceMemory":
        """A copy for each beam, those of a sentence side by side."""
        return SourceMemory(*(each.repeat_interleave(beam, dim=0) for each in self))


class BaselineState:
    """The memory of every beam of every sentence; a search changes it in place."""

    memory: SourceMemory
    past: list[Tensor]
    """What the decoder keeps of the tokens read, each `[sentences, beam, ...]`."""
    lengths: Tensor
    """Tokens read by the beams of each sentence, int64 `[sentences]`."""
    longest: int
    """The largest of these lengths, known without asking a device."""

    def __init__(self, memory: SourceMemory, past: list[Tensor]) -> None:
        """`past` is of one beam per sentence that has read nothing."""
        self.memory, self.past = memory, past
        self.lengths = torch.zeros(len(memory.keys), dtype=torch.int64, device=memory.keys.device)
        self.longest = 0

    def reorder(self, beams: Tensor) -> None:
        """Let new beam `j` of sentence `i` continue old beam `beams[i, j]`, int64 `[sentences, new_beam]`."""
        self.past = [
            torch.take_along_dim(each, beams.view(*beams.shape, *[1] * (each.dim() - 2)), dim=1) for each in self.past
        ]

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences, int64 `[kept]`, each at most once, in this order."""
        self.memory = SourceMemory(*(each[sentences] for each in self.memory))
        self.past = [each[sentences] for each in self.past]
        self.lengths = self.lengths[sentences]
        self.longest = int(self.lengths.max()) if len(sentences) else 0

    def join(self, other: "BaselineState") -> None:
        """Append the sentences of another state with as many beams."""
        self.memory = SourceMemory(*(joined(*both, dim=1) for both in zip(self.memory, other.memory, strict=True)))
        self.past = [torch.cat(both) for both in zip(self.past, other.past, strict=True)]
        self.lengths = torch.cat([self.lengths, other.lengths])
        self.longest = max(self.longest, other.longest)

    def advance(self) -> Tensor:
        """Count one more token per beam: its position, int64 `[sentences, 1]`."""
        positions = self.lengths.unsqueeze(1)
        self.lengths = self.lengths + 1
        self.longest += 1
        return positions
