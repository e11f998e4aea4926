"""The layers of encoder and decoder (section 3.1)."""

from torch import Tensor, nn

from aiayn.models.architecture import Architecture
from aiayn.models.attention import CrossAttention, SelfAttention
from aiayn.models.dropout import Dropout
from aiayn.models.feed_forward import FeedForward
from aiayn.models.keys_values import KeysValues
from aiayn.models.packing import Packing


def normalization(architecture: Architecture) -> nn.Module:
    """Over the last dimension, `[..., d_model]`."""
    kind = nn.LayerNorm if architecture.normalization == "layer" else nn.RMSNorm
    return kind(architecture.d_model, eps=architecture.layer_norm_epsilon)


class Residual(nn.Module):
    """Residual connection, layer normalisation, and dropout on a sub-layer's output (section 5.4).

    post: LayerNorm(x + Dropout(Sublayer(x))), as in the paper. pre: x + Dropout(Sublayer(LayerNorm(x))), as in the
    authors' later code, where the stack needs one more normalisation at its end.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.is_pre = architecture.norm == "pre"
        self.adds = architecture.residual
        self.norm = normalization(architecture)
        self.dropout = Dropout(architecture.dropout)

    def before(self, states: Tensor) -> Tensor:
        """The sub-layer's input, `[..., d_model]`."""
        if self.is_pre:
            states = self.norm(states)
        return states

    def after(self, states: Tensor, output: Tensor) -> Tensor:
        """Add the sub-layer's output to the states, both `[..., d_model]`."""
        states = self.dropout.add(states, output) if self.adds else self.dropout(output)
        if not self.is_pre:
            states = self.norm(states)
        return states


def feed_forward(architecture: Architecture) -> FeedForward:
    """The feed-forward network of a layer."""
    return FeedForward(d_model=architecture.d_model, d_ff=architecture.d_ff, dropout=architecture.activation_dropout)


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.self_attention = SelfAttention(architecture)
        self.feed_forward = feed_forward(architecture)
        self.around_self_attention, self.around_feed_forward = (Residual(architecture) for _ in range(2))

    def forward(self, states: Tensor, packing: Packing) -> Tensor:
        """Map source positions `[positions, d_model]` to the same shape."""
        before, after = self.around_self_attention.before, self.around_self_attention.after
        states = after(states, self.self_attention(before(states), packing))
        before, after = self.around_feed_forward.before, self.around_feed_forward.after
        return after(states, self.feed_forward(before(states)))


class DecoderLayer(nn.Module):
    """Self-attention to earlier positions, attention to the encoder's output, then a feed-forward network."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.self_attention = SelfAttention(architecture)
        self.cross_attention = CrossAttention(architecture)
        self.feed_forward = feed_forward(architecture)
        self.around_self_attention, self.around_cross_attention, self.around_feed_forward = (
            Residual(architecture) for _ in range(3)
        )

    def forward(self, states: Tensor, packing: Packing, memory: KeysValues, *, memory_is_real: Tensor | None) -> Tensor:
        """Map all target positions `[positions, d_model]` to the same shape.

        `memory` are this layer's keys and values of the encoder's output; `memory_is_real`, bool
        `[batch, source_len]`, is False at pads, or None without pads.
        """
        before, after = self.around_self_attention.before, self.around_self_attention.after
        states = after(states, self.self_attention(before(states), packing, is_causal=True))
        before, after = self.around_cross_attention.before, self.around_cross_attention.after
        states = after(states, self.cross_attention(before(states), packing, memory, is_real=memory_is_real))
        before, after = self.around_feed_forward.before, self.around_feed_forward.after
        return after(states, self.feed_forward(before(states)))

    def step(
        self,
        states: Tensor,
        past: KeysValues,
        memory: KeysValues,
        *,
        slots: int,
        columns: Tensor,
        past_bias: Tensor,
        memory_bias: Tensor | None,
    ) -> Tensor:
        """Map the beams' new positions `[sentences, beam, d_model]` to the same shape, and write them into the past.

        Args:
            states: from the layer below.
            past: this layer's keys and values of earlier positions, in the first `slots` places.
            memory: this layer's keys and values of the encoder's output.
            slots: number of past positions.
            columns: position in the sentence of the new positions, int64 `[sentences]`.
            past_bias: see `DecoderState.past_bias`; the new positions included.
            memory_bias: see `DecoderState`.
        """
        before, after = self.around_self_attention.before, self.around_self_attention.after
        attended = self.self_attention.extend(before(states), past, slots=slots, bias=past_bias, columns=columns)
        states = after(states, attended)
        before, after = self.around_cross_attention.before, self.around_cross_attention.after
        states = after(states, self.cross_attention.step(before(states), memory, memory_bias))
        before, after = self.around_feed_forward.before, self.around_feed_forward.after
        return after(states, self.feed_forward(before(states)))
