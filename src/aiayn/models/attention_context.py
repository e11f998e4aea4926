"""The keys that each query sees: in training those of its sentence, in a search those of its beam's past."""

from typing import NamedTuple, Protocol

from torch import Tensor

from aiayn.models.attention_backends import attend, padded_scores
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
        """See `Context`."""
        return attend(
            function,
            query,
            memory.keys,
            memory.values,
            queries=self.queries,
            sources=self.keys,
            is_causal=self.is_causal,
            reach=self.reach,
            dropout=dropout,
        )

    def scores(self, function: AttentionFunction, query: Tensor, memory: KeysValues) -> Tensor:
        """The softmax's logits `[sentences, num_heads, queries, keys]`, -inf at hidden keys, for inspection."""
        return padded_scores(
            function,
            query,
            memory.keys,
            queries=self.queries,
            sources=self.keys,
            is_causal=self.is_causal,
            reach=self.reach,
        )
