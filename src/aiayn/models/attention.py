"""Multi-head attention (section 3.2)."""

import torch
from torch import Tensor, nn

from aiayn.models.architecture import Architecture
from aiayn.models.attention_functions import cross_attention_function, masked_scores, self_attention_function
from aiayn.models.initialization import projection
from aiayn.models.keys_values import KeysValues
from aiayn.models.packing import Packed, Packing
from aiayn.models.positions import RotaryPositions, turned


class SelfAttention(nn.Module):
    """Attention of a sequence to itself: one product makes queries, keys and values of all heads."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        num_heads, d_k, d_v = architecture.num_heads, architecture.d_k, architecture.d_v
        self.num_heads = num_heads
        self.widths = [num_heads * d_k, num_heads * d_k, num_heads * d_v]
        self.function = self_attention_function(architecture)
        self.rotary = RotaryPositions(d_k) if architecture.positions == "rotary" else None
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
        query, own = self._placed(states, packing)
        attended = self.function(query, own, is_real=packing.is_real, is_causal=is_causal)
        result: Tensor = self.output(packing.pack(attended))
        return result

    def scores(self, states: Tensor, packing: Packing, *, is_causal: bool = False) -> Tensor:
        """What `forward` takes the softmax of, `[batch, num_heads, length, length]`; arguments as there."""
        query, own = self._placed(states, packing)
        return masked_scores(self.function, query, own.keys, is_real=packing.is_real, is_causal=is_causal)

    def extend(self, states: Tensor, room: KeysValues, *, slots: int, bias: Tensor, columns: Tensor) -> Tensor:
        """Let new positions attend to past ones and to themselves.

        Args:
            states: `[batch, new, d_model]`.
            room: for the keys and values of the past; those of the new positions are written behind it.
            slots: how many the past has.
            bias: added to the scores, `[batch, 1, new, slots + new]`; -inf where attention is not allowed.
            columns: where in its sentence the new positions of each stand, int64 `[batch]`.

        Returns:
            `[batch, new, d_model]`.
        """
        query, own = self._split(self.query_key_value(states))
        if self.rotary is not None:
            query, own = _turned(query, own, self.rotary(columns)[:, None, None])
        room.write(own, start=slots)
        result: Tensor = self.output(self.function.from_few(query, room.up_to(slots + states.shape[1]), bias))
        return result

    def _placed(self, states: Tensor, packing: Packing) -> tuple[Tensor, KeysValues]:
        """Queries, keys and values of padded positions; with rotary positions turned by where they stand."""
        query, own = self._split(packing.unpack(self.query_key_value(states)))
        if self.rotary is not None:
            query, own = _turned(query, own, self.rotary(torch.arange(packing.length, device=states.device)))
        return query, own

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
        self.function = cross_attention_function(architecture)
        self.query = projection(architecture.d_model, num_heads * d_k, bias=architecture.projection_bias)
        self.key_value = projection(architecture.d_model, sum(self.widths), bias=architecture.projection_bias)
        self.output = projection(num_heads * d_v, architecture.d_model, bias=architecture.projection_bias)

    def keys_values(self, memory: Packed) -> KeysValues:
        """Keys and values of what is attended to."""
        keys, values = torch.split(memory.packing.unpack(self.key_value(memory.states)), self.widths, dim=-1)
        return KeysValues(split_heads(keys, self.num_heads), split_heads(values, self.num_heads))

    def forward(self, states: Tensor, packing: Packing, memory: KeysValues, *, is_real: Tensor | None) -> Tensor:
        """Let every position attend to the memory.

        Args:
            states: `[positions, d_model]`.
            packing: which of them make a sentence.
            memory: from `keys_values`.
            is_real: bool `[batch, source_len]`, False at pads; None where there are none.

        Returns:
            `[positions, d_model]`.
        """
        query = split_heads(packing.unpack(self.query(states)), self.num_heads)
        result: Tensor = self.output(packing.pack(self.function(query, memory, is_real=is_real)))
        return result

    def scores(self, states: Tensor, packing: Packing, memory: KeysValues, *, is_real: Tensor | None) -> Tensor:
        """What `forward` takes the softmax of, `[batch, num_heads, length, source_len]`; arguments as there."""
        query = split_heads(packing.unpack(self.query(states)), self.num_heads)
        return masked_scores(self.function, query, memory.keys, is_real=is_real)

    def step(self, states: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """As `forward`, for a search: few positions, and a bias instead of a mask."""
        query = split_heads(self.query(states), self.num_heads)
        result: Tensor = self.output(self.function.from_few(query, memory, bias))
        return result


def _turned(query: Tensor, own: KeysValues, angles: Tensor) -> tuple[Tensor, KeysValues]:
    """Queries and keys turned by the positions that they stand at."""
    return turned(query, angles), KeysValues(turned(own.keys, angles), own.values)


def split_heads(states: Tensor, num_heads: int) -> Tensor:
    """View `[batch, length, num_heads * d]` as `[batch, num_heads, length, d]`."""
    batch, length, _ = states.shape
    return states.view(batch, length, num_heads, -1).transpose(1, 2)
