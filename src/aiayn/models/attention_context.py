"""Attention within the sentences of flat tensors, as in training: which keys a query may attend to."""

import torch
from torch import Tensor

from aiayn.models.attention_backends import allowed_keys, flat_attention, padded_attention, takes_flat
from aiayn.models.attention_functions import AttentionFunction
from aiayn.models.keys_values import KeysValues
from aiayn.models.padded_view import PaddedView


class SentenceContext:
    """Each query of a flat tensor `[tokens, ...]` attends to its sentence's keys, up to its own position if causal."""

    def __init__(
        self, queries: PaddedView, keys: PaddedView, *, is_causal: bool = False, reach: int | None = None
    ) -> None:
        """`reach` is the largest distance between a query and a key that it sees; None: any."""
        self.queries, self.keys, self.is_causal, self.reach = queries, keys, is_causal, reach

    @property
    def positions(self) -> Tensor:
        """See `keys_values.Context`."""
        return self.queries.layout.positions

    def attend(self, function: AttentionFunction, query: Tensor, memory: KeysValues, *, dropout: float) -> Tensor:
        """See `keys_values.Context`. Uses the kernel for flat tensors if `takes_flat`; otherwise pads the tensors."""
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
        queries, keys = scores.shape[-2:]
        allowed = allowed_keys(
            queries, keys, self.keys.mask, is_causal=self.is_causal, reach=self.reach, device=scores.device
        )
        return scores if allowed is None else scores.masked_fill(~allowed, -torch.inf)
