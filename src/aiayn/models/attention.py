"""Multi-head attention (section 3.2)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.architecture import Architecture
from aiayn.models.initialization import projection
from aiayn.models.keys_values import KeysValues
from aiayn.models.packing import Packed, Packing


class SelfAttention(nn.Module):
    """Attention of a sequence to itself: one product makes queries, keys and values of all heads."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        num_heads, d_k, d_v = architecture.num_heads, architecture.d_k, architecture.d_v
        self.num_heads = num_heads
        self.widths = [num_heads * d_k, num_heads * d_k, num_heads * d_v]
        self.query_key_value = projection(architecture.d_model, sum(self.widths), bias=architecture.projection_bias)
        self.output = projection(num_heads * d_v, architecture.d_model, bias=architecture.projection_bias)

    def forward(self, states: Tensor, packing: Packing, *, is_causal: bool = False) -> Tensor:
        """Let every position attend to the real ones of its sentence.

        Args:
            states: `[positions, d_model]`.
            packing: which of them make a sentence.
            is_causal: each position attends to itself and those before it. That alone hides the pads, which end a
                sentence: no real position has one before it.

        Returns:
            `[positions, d_model]`.
        """
        query, own = self._split(packing.unpack(self.query_key_value(states)))
        attended = attend(query, own, mask=None if is_causal else packing.mask, is_causal=is_causal)
        result: Tensor = self.output(packing.pack(attended))
        return result

    def weights(self, states: Tensor, packing: Packing, *, is_causal: bool = False) -> Tensor:
        """What `forward` weighs the values by, `[batch, num_heads, length, length]`; arguments as there."""
        query, own = self._split(packing.unpack(self.query_key_value(states)))
        return weights(query, own.keys, mask=None if is_causal else packing.mask, is_causal=is_causal)

    def extend(self, states: Tensor, room: KeysValues, *, slots: int, bias: Tensor) -> Tensor:
        """Let new positions attend to past ones and to themselves.

        Args:
            states: `[batch, new, d_model]`.
            room: for the keys and values of the past; those of the new positions are written behind it.
            slots: how many the past has.
            bias: added to the scores, `[batch, 1, new, slots + new]`; -inf where attention is not allowed.

        Returns:
            `[batch, new, d_model]`.
        """
        query, own = self._split(self.query_key_value(states))
        room.write(own, start=slots)
        result: Tensor = self.output(attend_from_few(query, room.up_to(slots + states.shape[1]), bias))
        return result

    def _split(self, projected: Tensor) -> tuple[Tensor, KeysValues]:
        query, keys, values = torch.split(projected, self.widths, dim=-1)
        return split_heads(query, self.num_heads), KeysValues(
            split_heads(keys, self.num_heads), split_heads(values, self.num_heads)
        )


class CrossAttention(nn.Module):
    """Attention of one sequence to another, whose keys and values are made once by `keys_values`."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        num_heads, d_k, d_v = architecture.num_heads, architecture.d_k, architecture.d_v
        self.num_heads = num_heads
        self.widths = [num_heads * d_k, num_heads * d_v]
        self.query = projection(architecture.d_model, num_heads * d_k, bias=architecture.projection_bias)
        self.key_value = projection(architecture.d_model, sum(self.widths), bias=architecture.projection_bias)
        self.output = projection(num_heads * d_v, architecture.d_model, bias=architecture.projection_bias)

    def keys_values(self, memory: Packed) -> KeysValues:
        """Keys and values of what is attended to."""
        keys, values = torch.split(memory.packing.unpack(self.key_value(memory.states)), self.widths, dim=-1)
        return KeysValues(split_heads(keys, self.num_heads), split_heads(values, self.num_heads))

    def forward(self, states: Tensor, packing: Packing, memory: KeysValues, *, mask: Tensor | None) -> Tensor:
        """Let every position attend to the memory.

        Args:
            states: `[positions, d_model]`.
            packing: which of them make a sentence.
            memory: from `keys_values`.
            mask: bool, broadcast to `[batch, num_heads, length, source_len]`; True = may attend.

        Returns:
            `[positions, d_model]`.
        """
        query = split_heads(packing.unpack(self.query(states)), self.num_heads)
        result: Tensor = self.output(packing.pack(attend(query, memory, mask=mask)))
        return result

    def weights(self, states: Tensor, packing: Packing, memory: KeysValues, *, mask: Tensor | None) -> Tensor:
        """What `forward` weighs the values by, `[batch, num_heads, length, source_len]`; arguments as there."""
        return weights(split_heads(packing.unpack(self.query(states)), self.num_heads), memory.keys, mask=mask)

    def step(self, states: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """As `forward`, for a search: few positions, and a bias instead of a mask (`attend_from_few`)."""
        query = split_heads(self.query(states), self.num_heads)
        result: Tensor = self.output(attend_from_few(query, memory, bias))
        return result


def attend(query: Tensor, memory: KeysValues, *, mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    """Scaled dot-product attention, softmax(Q K^T / sqrt(d_k)) V (equation 1), in all heads at once.

    The paper has no dropout on the attention's weights, and neither has this.

    Args:
        query: `[batch, num_heads, length, d_k]`.
        memory: keys and values of the positions attended to.
        mask: bool, broadcast to `[batch, num_heads, length, memory_len]`; True = may attend.
        is_causal: each position attends to itself and those before it; not together with `mask`.

    Returns:
        The heads side by side, `[batch, length, num_heads * d_v]`.
    """
    heads = F.scaled_dot_product_attention(query, memory.keys, memory.values, attn_mask=mask, is_causal=is_causal)
    return heads.transpose(1, 2).flatten(2)  # [batch, heads, length, d_v] -> [batch, length, heads * d_v]


def weights(query: Tensor, keys: Tensor, *, mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    """What `attend` weighs the values by, softmax(Q K^T / sqrt(d_k)), `[batch, num_heads, length, memory_len]`.

    To be looked at: `attend` never holds them. Arguments as there, but for the keys `[batch, num_heads, memory_len,
    d_k]`.
    """
    scores = torch.matmul(query * query.shape[-1] ** -0.5, keys.transpose(-1, -2))
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1)


def attend_from_few(query: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
    """As `attend`, for the few queries of a step of a search.

    Its scores are small beside the keys and values, so that two plain products are faster than a kernel made for many
    queries: on a CPU, for 64 sentences of 30 positions and beam 4, 0.5 ms instead of 0.9.

    Args:
        query: `[batch, num_heads, few, d_k]`.
        memory: keys and values of the positions attended to.
        bias: added to the scores, broadcast to `[batch, num_heads, few, memory_len]`; None for nothing.
    """
    scores = torch.matmul(query * query.shape[-1] ** -0.5, memory.keys.transpose(-1, -2))
    if bias is not None:
        scores += bias
    heads = torch.matmul(torch.softmax(scores, dim=-1), memory.values)
    return heads.transpose(1, 2).flatten(2)  # [batch, heads, few, d_v] -> [batch, few, heads * d_v]


def split_heads(states: Tensor, num_heads: int) -> Tensor:
    """View `[batch, length, num_heads * d]` as `[batch, num_heads, length, d]`."""
    batch, length, _ = states.shape
    return states.view(batch, length, num_heads, -1).transpose(1, 2)
