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
        """Attend to the real positions of the same sentence, `[positions, d_model]` to the same shape.

        A causal mask also hides pads, which are at the ends of sentences.
        """
        query, own = self._placed(states, packing)
        attended = self.function(query, own, is_real=packing.is_real, is_causal=is_causal)
        result: Tensor = self.output(packing.pack(attended))
        return result

    def scores(self, states: Tensor, packing: Packing, *, is_causal: bool = False) -> Tensor:
        """The logits of `forward`'s softmax, `[batch, num_heads, length, length]`."""
        query, own = self._placed(states, packing)
        return masked_scores(self.function, query, own.keys, is_real=packing.is_real, is_causal=is_causal)

    def extend(self, states: Tensor, room: KeysValues, *, slots: int, bias: Tensor, columns: Tensor) -> Tensor:
        """Attend from new positions `[batch, new, d_model]` to past ones and to themselves.

        Args:
            states: of the new positions.
            room: keys and values of the past, in the first `slots` places; those of the new positions are written
                behind.
            slots: number of past positions.
            bias: added to the scores, `[batch, 1, new, slots + new]`; -inf where attention is not allowed.
            columns: position in the sentence of the new positions, int64 `[batch]`.
        """
        query, own = self._split(self.query_key_value(states))
        if self.rotary is not None:
            query, own = _turned(query, own, self.rotary(columns)[:, None, None])
        room.write(own, start=slots)
        result: Tensor = self.output(self.function.from_few(query, room.up_to(slots + states.shape[1]), bias))
        return result

    def _placed(self, states: Tensor, packing: Packing) -> tuple[Tensor, KeysValues]:
        """Queries, keys and values of padded positions, with rotary positions applied."""
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
    """Attention of one sequence to another, whose keys and values are computed once by `keys_values`."""

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
        """Keys and values of the sequence attended to."""
        keys, values = torch.split(memory.packing.unpack(self.key_value(memory.states)), self.widths, dim=-1)
        return KeysValues(split_heads(keys, self.num_heads), split_heads(values, self.num_heads))

    def forward(self, states: Tensor, packing: Packing, memory: KeysValues, *, is_real: Tensor | None) -> Tensor:
        """Attend to the memory from `[positions, d_model]`, to the same shape.

        `is_real` is bool `[batch, source_len]`, False at pads; None without pads.
        """
        query = split_heads(packing.unpack(self.query(states)), self.num_heads)
        result: Tensor = self.output(packing.pack(self.function(query, memory, is_real=is_real)))
        return result

    def scores(self, states: Tensor, packing: Packing, memory: KeysValues, *, is_real: Tensor | None) -> Tensor:
        """The logits of `forward`'s softmax, `[batch, num_heads, length, source_len]`."""
        query = split_heads(packing.unpack(self.query(states)), self.num_heads)
        return masked_scores(self.function, query, memory.keys, is_real=is_real)

    def step(self, states: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """As `forward`, for a search: few positions, and a bias instead of a mask."""
        query = split_heads(self.query(states), self.num_heads)
        result: Tensor = self.output(self.function.from_few(query, memory, bias))
        return result


def _turned(query: Tensor, own: KeysValues, angles: Tensor) -> tuple[Tensor, KeysValues]:
    return turned(query, angles), KeysValues(turned(own.keys, angles), own.values)


def split_heads(states: Tensor, num_heads: int) -> Tensor:
    """View `[batch, length, num_heads * d]` as `[batch, num_heads, length, d]`."""
    batch, length, _ = states.shape
    return states.view(batch, length, num_heads, -1).transpose(1, 2)
