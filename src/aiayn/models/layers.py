"""The layers of encoder and decoder (section 3.1), their residual connections and feed-forward networks."""

from collections.abc import Callable
from functools import partial
from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.attention import Context, KeysValues
from aiayn.models.initialization import projection
from aiayn.models.kernels.dropout import Dropout
from aiayn.models.multi_head_attention import CrossAttention, SelfAttention

LAYER_NORM = partial(nn.LayerNorm, eps=1e-6)
"""With the epsilon of the authors' code; the paper states none."""


class Residual(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))), as in the paper (sections 3.1 and 5.4); `normalize` makes the LayerNorm.

    `is_pre` gives x + Dropout(Sublayer(LayerNorm(x))), as in the authors' later code, where the stack needs one more
    normalisation at its end. With `adds=False`, x is left out of the sum.
    """

    def __init__(
        self,
        *,
        d_model: int,
        dropout: float,
        normalize: Callable[[int], nn.Module] = LAYER_NORM,
        is_pre: bool = False,
        adds: bool = True,
    ) -> None:
        super().__init__()
        self.norm = normalize(d_model)
        self.dropout = Dropout(dropout, is_summand=True)
        self.is_pre, self.adds = is_pre, adds

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a sub-layer to states `[..., d_model]`, to the same shape."""
        x = states if self.adds else 0.0
        total: Tensor
        if self.is_pre:
            total = x + self.dropout(sublayer(self.norm(states)))
        else:
            total = self.norm(x + self.dropout(sublayer(states)))
        return total


class FeedForward(nn.Module):
    """Two linear maps with biases and a ReLU between them: max(0, x W1 + b1) W2 + b2 (equation 2).

    `activation="swish"` replaces the ReLU by x sigmoid(x) (Ramachandran et al. 2017). The paper has no dropout after
    the activation; the authors' later code has it.
    """

    def __init__(self, *, d_model: int, d_ff: int, activation: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        self.is_swish = activation == "swish"
        self.dropout = Dropout(dropout)
        self.inner = projection(d_model, d_ff, bias=True)
        self.output = projection(d_ff, d_model, bias=True)

    def forward(self, states: Tensor) -> Tensor:
        """Apply the network to each position separately, `[..., d_model]` to `[..., d_model]`."""
        inner = self.inner(states)
        # In place, which saves a tensor of width d_ff: ReLU's gradient needs only its output.
        active = F.silu(inner) if self.is_swish else F.relu(inner, inplace=True)
        result: Tensor = self.output(self.dropout(active))
        return result


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network; `residual()` creates the residual connection of a sub-layer."""

    def __init__(
        self, self_attention: SelfAttention, feed_forward: FeedForward, residual: Callable[[], Residual]
    ) -> None:
        super().__init__()
        self.self_attention, self.feed_forward = self_attention, feed_forward
        self.self_attention_residual, self.feed_forward_residual = residual(), residual()

    def forward(self, states: Tensor, own: Context) -> Tensor:
        """Map source states `[tokens, d_model]` to the same shape; `own` is the context of self-attention."""
        states = self.self_attention_residual(states, lambda x: self.self_attention(x, own))
        return cast("Tensor", self.feed_forward_residual(states, self.feed_forward))


class DecoderLayer(nn.Module):
    """Self-attention to positions up to its own, attention to the encoder's output, then a feed-forward network."""

    def __init__(
        self,
        self_attention: SelfAttention,
        cross_attention: CrossAttention,
        feed_forward: FeedForward,
        residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.self_attention, self.cross_attention, self.feed_forward = self_attention, cross_attention, feed_forward
        self.self_attention_residual, self.cross_attention_residual = residual(), residual()
        self.feed_forward_residual = residual()

    def forward(self, states: Tensor, own: Context, source: Context, memory: KeysValues) -> Tensor:
        """Map target states `[..., d_model]` to the same shape: all of a batch, or in a search those of new tokens.

        `memory` are this layer's keys and values of the encoder's output; `source` hides the keys of other sentences.
        """
        states = self.self_attention_residual(states, lambda x: self.self_attention(x, own))
        states = self.cross_attention_residual(states, lambda x: self.cross_attention(x, source, memory))
        return cast("Tensor", self.feed_forward_residual(states, self.feed_forward))
