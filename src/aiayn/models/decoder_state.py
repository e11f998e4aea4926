"""What the decoder remembers between two steps of a search."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from aiayn.models.keys_values import KeysValues, Past


@dataclass(frozen=True)
class DecoderState:
    """The memory of every beam of every sentence. Immutable: each method returns a new state.

    Keys and values of the past are never moved when beams are reordered. Each step adds one slot a beam, all slots of a
    sentence lie side by side, and `ancestry` says which of them a beam descends from. The beams are then the queries of
    one attention over all slots, as they are over the source: a masked product instead of a copy of the whole cache at
    every step. There are as many slots as a cache for each beam would hold.
    """

    source_is_real: Tensor
    """Bool `[sentences, source_len]`, False at pads."""
    memory: tuple[KeysValues, ...]
    """Each layer's keys and values of the encoder's output, `[sentences, num_heads, source_len, d]`."""
    past: tuple[Past, ...]
    """Each layer's keys and values of the tokens read, `[sentences, num_heads, slots, d]`."""
    ancestry: Tensor
    """Bool `[sentences, beam, slots]`: True where the slot holds a token of the beam's own past."""
    length: int
    """How many tokens each beam has read."""

    def reorder(self, beams: Tensor) -> "DecoderState":
        """Let new beam `j` of sentence `i` continue old beam `beams[i, j]`, int64 `[sentences, new_beam]`."""
        return replace(self, ancestry=torch.take_along_dim(self.ancestry, beams.unsqueeze(-1), dim=1))

    def keep(self, sentences: Tensor) -> "DecoderState":
        """Keep only the sentences int64 `[kept]`, in this order."""
        return replace(
            self,
            source_is_real=self.source_is_real.index_select(0, sentences),
            memory=tuple(layer.keep(sentences) for layer in self.memory),
            past=tuple(layer.keep(sentences) for layer in self.past),
            ancestry=self.ancestry.index_select(0, sentences),
        )

    def extended_ancestry(self) -> Tensor:
        """The ancestry after one more slot a beam, bool `[sentences, beam, slots + beam]`."""
        sentences, beam, _ = self.ancestry.shape
        own = torch.eye(beam, dtype=torch.bool, device=self.ancestry.device).expand(sentences, beam, beam)
        return torch.cat([self.ancestry, own], dim=-1)
