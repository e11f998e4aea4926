"""Multi-head attention (section 3.2.2): in each stack from the states to themselves, and from target to source."""

from abc import ABC
from collections.abc import Callable

import torch
from torch import Tensor, nn

from aiayn.models.attention import AttentionFunction, Context, KeysValues, scaled_dot_product
from aiayn.models.initialization import projection


class MultiHeadAttention(nn.Module, ABC):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    The W_i^Q, W_i^K and W_i^V of all heads are one matrix for each input that they are applied to. `function` makes the
    scores from `num_heads` and `d_k`.
    """

    output: nn.Linear
    """W^O."""

    def __init__(self, *, num_heads: int, d_k: int, function: Callable[..., AttentionFunction], dropout: float) -> None:
        super().__init__()
        self.num_heads, self.d_k, self.dropout = num_heads, d_k, dropout
        self.function = function(num_heads=num_heads, d_k=d_k)

    def attended(self, query: Tensor, memory: KeysValues, context: Context) -> Tensor:
        """Concat(head_1, ..., head_h) W^O, `[..., d_model]`, of queries and keys and values by head."""
        heads = context.attend(self.function, query, memory, dropout=self.dropout if self.training else 0.0)
        result: Tensor = self.output(heads.flatten(-2))
        return result

    def by_head(self, projected: Tensor) -> Tensor:
        """`[..., num_heads * d]` to `[..., num_heads, d]`."""
        return torch.unflatten(projected, -1, (self.num_heads, -1))


class SelfAttention(MultiHeadAttention):
    """Queries, keys and values are projections of the same states; `rotary` makes a rotation of d_k coordinates."""

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_k: int,
        d_v: int,
        function: Callable[..., AttentionFunction] = scaled_dot_product,
        rotary: Callable[[int], nn.Module] | None = None,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(num_heads=num_heads, d_k=d_k, function=function, dropout=dropout)
        self.rotary = None if rotary is None else rotary(d_k)
        self.widths = (num_heads * d_k, num_heads * d_k, num_heads * d_v)
        self.query_key_value = projection(d_model, sum(self.widths), bias=bias)  # W_i^Q, W_i^K and W_i^V
        self.output = projection(num_heads * d_v, d_model, bias=bias)

    def forward(self, states: Tensor, context: Context) -> Tensor:
        """Let states `[..., d_model]` attend to themselves; the result has the same shape."""
        return self.attended(*self.heads(states, context), context)

    def heads(self, states: Tensor, context: Context) -> tuple[Tensor, KeysValues]:
        """Q W_i^Q, K W_i^K and V W_i^V of states `[..., d_model]`."""
        query, keys, values = map(self.by_head, self.query_key_value(states).split(self.widths, dim=-1))
        if self.rotary is not None:
            query, keys = (self.rotary(each, context.positions) for each in (query, keys))
        return query, KeysValues(keys, values)


class CrossAttention(MultiHeadAttention):
    """Queries are projections of the decoder's states, keys and values of the encoder's output."""

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_k: int,
        d_v: int,
        function: Callable[..., AttentionFunction] = scaled_dot_product,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(num_heads=num_heads, d_k=d_k, function=function, dropout=dropout)
        self.widths = (num_heads * d_k, num_heads * d_v)
        self.query = projection(d_model, num_heads * d_k, bias=bias)  # W_i^Q
        self.key_value = projection(d_model, sum(self.widths), bias=bias)  # W_i^K and W_i^V
        self.output = projection(num_heads * d_v, d_model, bias=bias)

    def forward(self, states: Tensor, context: Context, memory: KeysValues) -> Tensor:
        """Let states `[..., d_model]` attend to `memory`, of `keys_values`; the result has the same shape."""
        return self.attended(*self.heads(states, context, memory), context)

    def heads(self, states: Tensor, context: Context, memory: KeysValues) -> tuple[Tensor, KeysValues]:  # noqa: ARG002
        """Q W_i^Q of states `[..., d_model]`, and the memory's K W_i^K and V W_i^V."""
        return self.by_head(self.query(states)), memory

    def keys_values(self, encoded: Tensor) -> KeysValues:
        """K W_i^K and V W_i^V of the encoder's output `[..., d_model]`, computed once for all target positions."""
        return KeysValues(*map(self.by_head, self.key_value(encoded).split(self.widths, dim=-1)))
