"""Attention (section 3.2): equation 1, and multi-head attention.

`attention` states equation 1; training calls it only if scores are not dot products. Faster code gives the same result
otherwise: `attention_context` and `attention_backends` in training, `decoder_state` and `attend_few` in a search.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.attention_functions import AttentionFunction, scores_of
from aiayn.models.initialization import projection
from aiayn.models.keys_values import Context, KeysValues


def attention(
    function: AttentionFunction, query: Tensor, keys: Tensor, values: Tensor, *, allowed: Tensor | None, dropout: float
) -> Tensor:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V (equation 1), or softmax(scores) V with other scores.

    Queries are `[..., queries, d_k]`, keys `[..., keys, d_k]`, values `[..., keys, d_v]`, the result `[..., queries,
    d_v]`. `allowed`, bool `[..., queries, keys]`, is True where a query may attend to a key; None: everywhere.
    `dropout` is the probability that a weight is set to zero.
    """
    scores = scores_of(function, query, keys)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)  # section 3.2.3; `allowed` is of `allowed_keys`
    return torch.matmul(F.dropout(torch.softmax(scores, dim=-1), dropout), values)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V) (3.2.2).

    One matrix holds the W_i^Q, W_i^K and W_i^V of all heads in self-attention; in cross-attention one holds the W_i^Q,
    one the W_i^K and W_i^V. There, `keys_values` computes keys and values once, from the encoder's output.
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_k: int,
        d_v: int,
        function: AttentionFunction,
        is_self: bool,
        bias: bool = False,
        dropout: float = 0.0,
        rotary: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.num_heads, self.d_k, self.dropout = num_heads, d_k, dropout
        self.function, self.rotary = function, rotary
        self.key_width, self.value_width = num_heads * d_k, num_heads * d_v
        joint = self.key_width + self.value_width
        self.query_key_value = projection(d_model, self.key_width + joint, bias=bias) if is_self else None  # Q, K, V
        self.query = None if is_self else projection(d_model, self.key_width, bias=bias)  # W_i^Q of all heads
        self.key_value = None if is_self else projection(d_model, joint, bias=bias)  # W_i^K and W_i^V
        self.output = projection(self.value_width, d_model, bias=bias)  # W^O

    def forward(self, states: Tensor, context: Context, memory: KeysValues | None = None) -> Tensor:
        """Let states `[..., d_model]` attend to `memory`, or to themselves if None; the result has the same shape."""
        query, keys_values = self.heads(states, context, memory)
        heads = context.attend(self.function, query, keys_values, dropout=self.dropout if self.training else 0.0)
        result: Tensor = self.output(heads.flatten(-2))  # Concat(head_1, ..., head_h) W^O
        return result

    def heads(self, states: Tensor, context: Context, memory: KeysValues | None = None) -> tuple[Tensor, KeysValues]:
        """Q W_i^Q of states `[..., d_model]`, with `memory` if given, else with their K W_i^K and V W_i^V."""
        if memory is not None:
            assert self.query is not None, "self-attention has no memory"
            return torch.unflatten(self.query(states), -1, (self.num_heads, self.d_k)), memory
        assert self.query_key_value is not None, "cross-attention needs the memory's keys and values"
        widths = [self.key_width, self.key_width, self.value_width]
        query, keys, values = self.query_key_value(states).split(widths, dim=-1)
        query, own = torch.unflatten(query, -1, (self.num_heads, self.d_k)), self._by_head(keys, values)
        if self.rotary is not None:
            query = self.rotary(query, context.positions)
            own = own._replace(keys=self.rotary(own.keys, context.positions))
        return query, own

    def keys_values(self, states: Tensor) -> KeysValues:
        """K W_i^K and V W_i^V of the encoder's output `[..., d_model]`."""
        assert self.key_value is not None, "self-attention has no memory"
        return self._by_head(*self.key_value(states).split([self.key_width, self.value_width], dim=-1))

    def _by_head(self, keys: Tensor, values: Tensor) -> KeysValues:
        return KeysValues(*(torch.unflatten(each, -1, (self.num_heads, -1)) for each in (keys, values)))
