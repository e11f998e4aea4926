"""Attention within the sentences of flat tensors, as in training: which keys a query may attend to."""

from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from aiayn.models.attention import AttentionFunction, DotProduct, KeysValues, allowed_keys, attention
from aiayn.models.kernels.flat_attention import flat_attention, takes_flat
from aiayn.models.kernels.fused_attention import fused_attention, local_attention
from aiayn.models.kernels.padded_view import PaddedView


class SentenceContext:
    """Each query of a flat tensor `[tokens, ...]` attends to its sentence's keys, up to its own position if causal."""

    def __init__(
        self, queries: PaddedView, keys: PaddedView, *, is_causal: bool = False, reach: int | None = None
    ) -> None:
        """`reach` is the largest distance between a query and a key that it sees; None: any."""
        self.queries, self.keys, self.is_causal, self.reach = queries, keys, is_causal, reach

    @property
    def positions(self) -> Tensor:
        """See `attention.Context`."""
        return self.queries.layout.positions

    def attend(self, function: AttentionFunction, query: Tensor, memory: KeysValues, *, dropout: float) -> Tensor:
        """See `attention.Context`: by the fastest form that takes these, of those at the head of `attention`."""
        is_flat = self.reach is None and takes_flat(query, memory.values, dropout=dropout)
        if isinstance(function, DotProduct) and is_flat:
            layouts = self.queries.layout, self.keys.layout
            return flat_attention(function, query, *memory, *layouts, is_causal=self.is_causal)
        query = self.queries.pad(query).transpose(1, 2)
        keys, values = (self.keys.pad(each).transpose(1, 2) for each in memory)
        if isinstance(function, DotProduct):
            heads = function.transform(query), keys, values
            given: dict[str, Any] = {"is_causal": self.is_causal, "scale": function.scale, "dropout": dropout}
            if self.reach is not None:
                found = local_attention(*heads, reach=self.reach, is_token=self.keys.mask, **given)
            else:
                is_masked = self.keys.mask is not None and not self.is_causal  # a causal mask hides pads, too
                found = fused_attention(*heads, mask=self.keys.is_token[:, None, None] if is_masked else None, **given)
        else:
            given = {"allowed": self._allowed(query, keys), "dropout": dropout}
            if torch.is_grad_enabled():
                # Computed again in the backward pass: sums of queries and keys would take d_k times the scores' memory.
                found = checkpoint(attention, function, query, keys, values, use_reentrant=False, **given)
            else:
                found = attention(function, query, keys, values, **given)
        return self.queries.flatten(found.transpose(1, 2))

    def scores(self, function: AttentionFunction, query: Tensor, memory: KeysValues) -> Tensor:
        """The softmax's logits `[sentences, num_heads, queries, keys]`, -inf at hidden keys, for inspection."""
        query, keys = self.queries.pad(query).transpose(1, 2), self.keys.pad(memory.keys).transpose(1, 2)
        scores, allowed = function.scores(query, keys), self._allowed(query, keys)
        return scores if allowed is None else scores.masked_fill(~allowed, -torch.inf)

    def _allowed(self, query: Tensor, keys: Tensor) -> Tensor | None:
        sizes = query.shape[-2], keys.shape[-2]
        return allowed_keys(*sizes, self.keys.mask, is_causal=self.is_causal, reach=self.reach, device=query.device)
