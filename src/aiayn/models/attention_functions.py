"""The attention functions that section 3.2.1 compares, for all heads at once."""

from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from aiayn.models.architecture import Architecture
from aiayn.models.keys_values import KeysValues


class DotProductAttention(nn.Module):
    """softmax(s Q K^T) V: with s = 1 / sqrt(d_k) equation 1, with s = 1 not scaled.

    With a matrix W for each head, softmax(Q W K^T) V, it is "general" (Luong et al. 2015).
    """

    def __init__(
        self, *, num_heads: int, d_k: int, is_scaled: bool = True, has_matrix: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.scale = d_k**-0.5 if is_scaled else 1.0
        self.dropout = dropout
        self.between = _matrices(num_heads, d_k, d_k) if has_matrix else None

    def forward(
        self, query: Tensor, memory: KeysValues, *, is_real: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Attend from many positions.

        Args:
            query: `[batch, num_heads, length, d_k]`.
            memory: keys and values of the positions attended to.
            is_real: bool `[batch, memory_len]`; False hides a position. Ignored if causal, which hides the pads at the
                end.
            is_causal: each position attends to itself and those before it.

        Returns:
            The heads concatenated, `[batch, length, num_heads * d_v]`.
        """
        heads = F.scaled_dot_product_attention(
            self._turned(query),
            memory.keys,
            memory.values,
            attn_mask=None if is_real is None or is_causal else is_real[:, None, None],
            is_causal=is_causal,
            scale=self.scale,
            dropout_p=self.dropout if self.training else 0.0,
        )
        return side_by_side(heads)

    def from_few(self, query: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """As `forward`, for the few queries `[batch, num_heads, few, d_k]` of a step of a search.

        Two plain products are faster here than a fused kernel: on a CPU, for 64 sentences of 30 positions and beam 4,
        0.5 ms instead of 0.9. `bias` is added to the scores and broadcast to `[batch, num_heads, few, memory_len]`.
        """
        return _weighed(self.scores(query, memory.keys), bias, memory.values)

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """The logits of the softmax, `[batch, num_heads, length, memory_len]`."""
        return torch.matmul(self._turned(query) * self.scale, keys.transpose(-1, -2))

    def _turned(self, query: Tensor) -> Tensor:
        return query if self.between is None else torch.matmul(query, self.between)


class AdditiveAttention(nn.Module):
    """softmax(v^T tanh(q + k)) V with a vector v for each head (Bahdanau et al. 2015).

    Bahdanau's matrices are the layer's projections. With a further matrix over both, v^T tanh(W [q; k]), it is "concat"
    (Luong et al. 2015). The sums `[batch, num_heads, length, memory_len, d_k]` are recomputed in the backward pass.
    """

    def __init__(self, *, num_heads: int, d_k: int, has_matrix: bool = False, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.vector = nn.Parameter(nn.init.normal_(torch.empty(num_heads, d_k), std=d_k**-0.5))
        self.joining = _matrices(num_heads, 2 * d_k, d_k) if has_matrix else None

    def forward(
        self, query: Tensor, memory: KeysValues, *, is_real: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Attend from many positions; as `DotProductAttention.forward`."""
        if torch.is_grad_enabled():
            scores: Tensor = checkpoint(self.scores, query, memory.keys, use_reentrant=False, preserve_rng_state=False)
        else:
            scores = self.scores(query, memory.keys)
        weights = torch.softmax(_masked(scores, is_real, is_causal=is_causal), dim=-1)
        return side_by_side(torch.matmul(F.dropout(weights, self.dropout, self.training), memory.values))

    def from_few(self, query: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """As `DotProductAttention.from_few`."""
        return _weighed(self.scores(query, memory.keys), bias, memory.values)

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """The logits of the softmax, `[batch, num_heads, length, memory_len]`."""
        if self.joining is not None:
            of_query, of_keys = self.joining.chunk(2, dim=1)
            query, keys = torch.matmul(query, of_query), torch.matmul(keys, of_keys)
        sums = torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3))  # [batch, heads, length, memory_len, d_k]
        return torch.matmul(sums, self.vector[:, None, :, None]).squeeze(-1)


class RestrictedAttention(nn.Module):
    """Scaled dot-product self-attention to a neighbourhood of size r around each position (section 4, Table 1).

    Positions up to `reach` = r / 2 away are seen. The sequence is cut into blocks of r / 2; a block attends to itself
    and its neighbours, so time and memory grow with r n, and no `[length, length]` is computed.
    """

    def __init__(self, *, reach: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.reach = reach
        self.dropout = dropout

    def forward(
        self, query: Tensor, memory: KeysValues, *, is_real: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Attend within the neighbourhood; arguments and result as for `DotProductAttention.forward`.

        The result is zero for a position that sees nothing.
        """
        batch, _, length, _ = query.shape
        width = self.reach
        blocks = -(-length // width)
        tail = blocks * width - length
        if is_real is None:
            is_real = torch.ones(batch, length, dtype=torch.bool, device=query.device)
        seen = F.pad(is_real, (width, width + tail)).unfold(1, 3 * width, width)  # [batch, blocks, 3 width]
        allowed = seen[:, :, None] & self._band(is_causal=is_causal, device=query.device)
        sees_nothing = ~allowed.any(dim=-1, keepdim=True)  # a softmax over nothing would not be a number
        heads = F.scaled_dot_product_attention(
            torch.unflatten(F.pad(query, (0, 0, 0, tail)), 2, (blocks, width)).transpose(1, 2).flatten(0, 1),
            self._around(memory.keys, tail).flatten(0, 1),
            self._around(memory.values, tail).flatten(0, 1),
            attn_mask=(allowed | sees_nothing).flatten(0, 1).unsqueeze(1),
            dropout_p=self.dropout if self.training else 0.0,
        )  # [batch * blocks, num_heads, width, d_v]
        heads = heads.masked_fill(sees_nothing.flatten(0, 1).unsqueeze(1), 0.0)
        joined = torch.unflatten(heads, 0, (batch, blocks)).transpose(1, 2).flatten(2, 3)[:, :, :length]
        return side_by_side(joined)

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """The logits of the softmax, `[batch, num_heads, length, length]`, for inspection."""
        distance = (
            torch.arange(keys.shape[2], device=keys.device) - torch.arange(query.shape[2], device=keys.device)[:, None]
        )
        return _scaled_products(query, keys).masked_fill(distance.abs() > self.reach, -torch.inf)

    def from_few(self, query: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """For the few queries of a step of a search, whose bias hides positions out of reach."""
        return _weighed(_scaled_products(query, memory.keys), bias, memory.values)

    def _around(self, values: Tensor, tail: int) -> Tensor:
        """Each block's own positions and its neighbours', `[batch, blocks, num_heads, 3 width, d]`."""
        width = self.reach
        padded = F.pad(values, (0, 0, width, width + tail))
        return padded.unfold(2, 3 * width, width).permute(0, 2, 1, 4, 3)

    def _band(self, *, is_causal: bool, device: torch.device) -> Tensor:
        """The visible ones of the 3 width positions around a block, bool `[width, 3 width]`."""
        width = self.reach
        distance = torch.arange(3 * width, device=device) - width - torch.arange(width, device=device)[:, None]
        return (distance.abs() <= width) & ((distance <= 0) | (not is_causal))


AttentionFunction: TypeAlias = DotProductAttention | AdditiveAttention | RestrictedAttention


def self_attention_function(architecture: Architecture) -> AttentionFunction:
    """The attention function between positions of one sequence."""
    if architecture.reach is not None:
        return RestrictedAttention(reach=architecture.reach, dropout=architecture.attention_dropout)
    return cross_attention_function(architecture)


def cross_attention_function(architecture: Architecture) -> DotProductAttention | AdditiveAttention:
    """The attention function between two sequences; a neighbourhood applies to self-attention only."""
    name, dropout = architecture.attention, architecture.attention_dropout
    heads, d_k = architecture.num_heads, architecture.d_k
    if name in ("additive", "concat"):
        return AdditiveAttention(num_heads=heads, d_k=d_k, has_matrix=name == "concat", dropout=dropout)
    is_scaled = name in ("scaled_dot", "restricted")
    return DotProductAttention(
        num_heads=heads, d_k=d_k, is_scaled=is_scaled, has_matrix=name == "general", dropout=dropout
    )


def masked_scores(
    function: AttentionFunction, query: Tensor, keys: Tensor, *, is_real: Tensor | None = None, is_causal: bool = False
) -> Tensor:
    """The masked logits of an attention's softmax, `[batch, num_heads, length, memory_len]`, for inspection.

    `keys` are `[batch, num_heads, memory_len, d_k]`; other arguments as for `DotProductAttention.forward`.
    """
    return _masked(function.scores(query, keys), is_real, is_causal=is_causal)


def side_by_side(heads: Tensor) -> Tensor:
    """`[batch, num_heads, length, d_v]` as `[batch, length, num_heads * d_v]`."""
    return heads.transpose(1, 2).flatten(2)


def _masked(scores: Tensor, is_real: Tensor | None, *, is_causal: bool) -> Tensor:
    """Scores with -inf at hidden positions."""
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        return scores.masked_fill(later, -torch.inf)
    return scores if is_real is None else scores.masked_fill(~is_real[:, None, None], -torch.inf)


def _weighed(scores: Tensor, bias: Tensor | None, values: Tensor) -> Tensor:
    """Values weighted by the softmax of scores, which are overwritten, plus a bias: `[batch, few, num_heads * d_v]`."""
    if bias is not None:
        scores += bias
    return side_by_side(torch.matmul(torch.softmax(scores, dim=-1), values))


def _scaled_products(query: Tensor, keys: Tensor) -> Tensor:
    return torch.matmul(query * query.shape[-1] ** -0.5, keys.transpose(-1, -2))


def _matrices(num_heads: int, rows: int, columns: int) -> nn.Parameter:
    """A matrix for each head, `[num_heads, rows, columns]`, Xavier uniform as `initialization.projection`."""
    bound = (6 / (rows + columns)) ** 0.5
    return nn.Parameter(nn.init.uniform_(torch.empty(num_heads, rows, columns), -bound, bound))
