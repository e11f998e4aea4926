"""The layers of encoder and decoder, and the residual connections around their sub-layers (section 3.1)."""

from collections.abc import Callable

from torch import Tensor, nn

from aiayn.models.attention import MultiHeadAttention
from aiayn.models.attention_context import Context, KeysValues
from aiayn.models.dropout import Dropout
from aiayn.models.feed_forward import FeedForward


class Residual(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))), as in the paper (sections 3.1 and 5.4).

    `is_pre` gives x + Dropout(Sublayer(LayerNorm(x))), as in the authors' later code, where the stack needs one more
    normalisation at its end. With `adds=False`, x is left out of the sum.
    """

    def __init__(self, norm: nn.Module, *, dropout: float, is_pre: bool = False, adds: bool = True) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.is_pre, self.adds = is_pre, adds

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a sub-layer to states `[..., d_model]`, to the same shape."""
        output = sublayer(self.norm(states) if self.is_pre else states)
        states = self.dropout.add(states, output) if self.adds else self.dropout(output)
        return states if self.is_pre else self.norm(states)


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network; `residual` makes the connection around each."""

    def __init__(
        self, self_attention: MultiHeadAttention, feed_forward: FeedForward, residual: Callable[[], Residual]
    ) -> None:
        super().__init__()
        self.self_attention, self.feed_forward = self_attention, feed_forward
        self.self_attention_residual, self.feed_forward_residual = residual(), residual()

    def forward(self, states: Tensor, own: Context) -> Tensor:
        """Map source states `[tokens, d_model]` to the same shape."""
        states = self.self_attention_residual(states, lambda each: self.self_attention(each, own))
        states = self.feed_forward_residual(states, self.feed_forward)
        return states  # noqa: RET504


class DecoderLayer(nn.Module):
    """Self-attention to earlier positions, attention to the encoder's output, then a feed-forward network."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.self_attention, self.cross_attention, self.feed_forward = self_attention, cross_attention, feed_forward
        self.self_attention_residual, self.cross_attention_residual = residual(), residual()
        self.feed_forward_residual = residual()

    def forward(self, states: Tensor, own: Context, source: Context, memory: KeysValues) -> Tensor:
        """Map target states `[..., d_model]` to the same shape: all of a batch, or in a search those of new tokens.

        `memory` are this layer's keys and values of the encoder's output, which `source` shows to each state.
        """
        states = self.self_attention_residual(states, lambda each: self.self_attention(each, own))
        states = self.cross_attention_residual(states, lambda each: self.cross_attention(each, source, memory))
        states = self.feed_forward_residual(states, self.feed_forward)
        return states  # noqa: RET504
