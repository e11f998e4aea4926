"""The keys that each query sees: in training those of its sentence, in a search those of its beam's past."""

from typing import NamedTuple, Protocol

from torch import Tensor

from aiayn.models.attention_backends import flat_attention, masked, padded_attention, takes_flat
from aiayn.models.attention_functions import AttentionFunction
from aiayn.models.padded_view import PaddedView


class KeysValues(NamedTuple):
    """Keys `[..., num_heads, d_k]` and values `[..., num_heads, d_v]` of positions that are attended to."""

    keys: Tensor
    values: Tensor


class Context(Protocol):
    """The keys that each query sees."""

    @property
    def positions(self) -> Tensor:
        """The queries' positions in their sentences, int64 that broadcast to `[...]`."""
        ...

    def attend(self, function: AttentionFunction, query: Tensor, memory: KeysValues, *, dropout: float) -> Tensor:
        """softmax(scores) V, `[..., num_heads, d_v]`, of queries `[..., num_heads, d_k]`; dropout is on the weights."""
        ...


class SentenceContext:
    """Queries of a flat tensor `[tokens, ...]` see the keys of their sentence, all or those up to their position."""

    def __init__(
        self, queries: PaddedView, keys: PaddedView, *, is_causal: bool = False, reach: int | None = None
    ) -> None:
        """`reach` is the largest distance between a query and a key that it sees; None: any."""
        self.queries, self.keys, self.is_causal, self.reach = queries, keys, is_causal, reach

    @property
    def positions(self) -> Tensor:
        """See `Context`."""
        return self.queries.layout.positions

    def attend(self, function: AttentionFunction, query: Tensor, memory: KeysValues, *, dropout: float) -> Tensor:
        """See `Context`; without padding where the kernel for flat tensors takes it."""
        if self.reach is None and takes_flat(function, query, memory.values, dropout=dropout):
            layouts = self.queries.layout, self.keys.layout
            return flat_attention(function, query, *memory, *layouts, is_causal=self.is_causal)
        heads = padded_attention(
            function,
            self.queries.pad(query).transpose(1, 2),
            *(self.keys.pad(each).transpose(1, 2) for each in memory),
            is_token=self.keys.mask,
            is_causal=self.is_causal,
            reach=self.reach,
            dropout=dropout,
        )
        return self.queries.flatten(heads.transpose(1, 2))

    def scores(self, function: AttentionFunction, query: Tensor, memory: KeysValues) -> Tensor:
        """The softmax's logits `[sentences, num_heads, queries, keys]`, -inf at hidden keys, for inspection."""
        scores = function.scores(self.queries.pad(query).transpose(1, 2), self.keys.pad(memory.keys).transpose(1, 2))
        return masked(scores, self.keys.mask, is_causal=self.is_causal, reach=self.reach)
