"""The Transformer (section 3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn

from aiayn.config.errors import UserError
from aiayn.models.attention import padding_mask
from aiayn.models.decoder_state import DecoderState
from aiayn.models.embeddings import TiedEmbedding
from aiayn.models.keys_values import Past
from aiayn.models.layers import DecoderLayer, EncoderLayer
from aiayn.models.positions import LearnedPositions, SinusoidalPositions


@dataclass(frozen=True)
class Memory:
    """An encoded batch of sources."""

    states: Tensor
    """`[batch, source_len, d_model]`."""
    mask: Tensor
    """Bool `[batch, source_len]`, True = real token."""


class Transformer(nn.Module):
    """Encoder and decoder with tied embeddings, for training by `forward` and for searching by `begin` and `step`.

    Args:
        vocabulary_size: rows of the one embedding matrix.
        d_model: width of every layer's output.
        d_ff: inner width of the feed-forward networks.
        num_layers: N, layers of the encoder, and as many of the decoder.
        num_heads: h, attention heads.
        d_k: width of one head's queries and keys.
        d_v: width of one head's values; free, like d_k.
        dropout: P_drop, on every sub-layer's output and on the sums of embeddings and positions (section 5.4).
        positions: sinusoidal (section 3.5) or learned (Table 3, row E).
        norm: post (the paper) or pre, see `Residual`.
        projection_bias: give the attention's projections biases; the paper's equations have none.
        layer_norm_epsilon: added to the variance in layer normalisation.
        max_positions: the longest sentence with learned positions; sinusoids have no end.
        pad_id: fills sentences up at their ends. Every source needs one real token.

    Raises:
        UserError: a setting is out of its range.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        d_model: int,
        d_ff: int,
        num_layers: int,
        num_heads: int,
        d_k: int,
        d_v: int,
        dropout: float,
        positions: Literal["sinusoidal", "learned"],
        norm: Literal["post", "pre"],
        projection_bias: bool,
        layer_norm_epsilon: float,
        max_positions: int,
        pad_id: int = 0,
    ) -> None:
        super().__init__()
        _require_positive(
            d_model=d_model,
            d_ff=d_ff,
            num_layers=num_layers,
            num_heads=num_heads,
            d_k=d_k,
            d_v=d_v,
            layer_norm_epsilon=layer_norm_epsilon,
            max_positions=max_positions,
        )
        if not 0.0 <= dropout < 1.0:
            raise UserError(f"model.dropout={dropout}: must be at least 0 and below 1")
        _require_one_of(("sinusoidal", "learned"), positions=positions)
        _require_one_of(("post", "pre"), norm=norm)
        assert 0 <= pad_id < vocabulary_size, "pads are looked up as every token is"
        self.pad_id = pad_id
        self.embedding = TiedEmbedding(vocabulary_size=vocabulary_size, d_model=d_model)
        kind = SinusoidalPositions if positions == "sinusoidal" else LearnedPositions
        self.positions = kind(max_positions=max_positions, d_model=d_model)
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList(
            EncoderLayer(
                d_model=d_model,
                d_ff=d_ff,
                num_heads=num_heads,
                d_k=d_k,
                d_v=d_v,
                dropout=dropout,
                norm=norm,
                projection_bias=projection_bias,
                layer_norm_epsilon=layer_norm_epsilon,
            )
            for _ in range(num_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(
                d_model=d_model,
                d_ff=d_ff,
                num_heads=num_heads,
                d_k=d_k,
                d_v=d_v,
                dropout=dropout,
                norm=norm,
                projection_bias=projection_bias,
                layer_norm_epsilon=layer_norm_epsilon,
            )
            for _ in range(num_layers)
        )
        is_pre = norm == "pre"
        self.encoder_norm = nn.LayerNorm(d_model, eps=layer_norm_epsilon) if is_pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model, eps=layer_norm_epsilon) if is_pre else nn.Identity()

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Logits of every next token, `[batch, target_len, vocabulary_size]`, given those before it.

        Args:
            source: int64 `[batch, source_len]`, pads at the end.
            target_input: int64 `[batch, target_len]`, the target shifted right behind bos, pads at the end.
        """
        return self.project(self.decode(target_input, self.encode(source)))

    def encode(self, source: Tensor) -> Memory:
        """Run the encoder over sources int64 `[batch, source_len]`."""
        is_real = source != self.pad_id
        mask = padding_mask(is_real)
        states = self._embed(source)
        for layer in self.encoder:
            states = layer(states, mask=mask)
        return Memory(self.encoder_norm(states), is_real)

    def decode(self, target_input: Tensor, memory: Memory) -> Tensor:
        """Run the decoder over all positions of int64 `[batch, target_len]`: `[batch, target_len, d_model]`."""
        memory_mask = padding_mask(memory.mask)
        states = self._embed(target_input)
        for layer in self._decoder_layers():
            states = layer(states, layer.cross_attention.keys_values(memory.states), memory_mask=memory_mask)
        result: Tensor = self.decoder_norm(states)
        return result

    def project(self, states: Tensor) -> Tensor:
        """Logits `[..., vocabulary_size]` of decoder states `[..., d_model]`, through the embeddings' own matrix."""
        return self.embedding.project(states)

    @torch.no_grad()
    def begin(self, source: Tensor) -> DecoderState:
        """Encode sources int64 `[sentences, source_len]`; each has one beam that has read nothing yet."""
        assert not self.training, "a search would be disturbed by dropout: call eval() first"
        memory = self.encode(source)
        keys_values = tuple(layer.cross_attention.keys_values(memory.states) for layer in self._decoder_layers())
        sentences = len(source)
        return DecoderState(
            source_is_real=memory.mask,
            memory=keys_values,
            past=tuple(Past.like(layer) for layer in keys_values),
            ancestry=memory.mask.new_empty(sentences, 1, 0),
            length=0,
        )

    @torch.no_grad()
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Read one token a beam and predict the next.

        Args:
            tokens: int64 `[sentences, beam]`; bos at the first step, where every sentence has one beam.
            state: from `begin` or the step before.

        Returns:
            Log-probabilities of the next token, float32 `[sentences, beam, vocabulary_size]`, a tensor of their own;
            and the state after `tokens`.
        """
        assert tokens.shape == state.ancestry.shape[:2], "one token for every beam of the state"
        ancestry = state.extended_ancestry()
        memory_mask = padding_mask(state.source_is_real)
        states = self._embed_step(tokens, state.length)
        past = []
        for layer, layer_past, layer_memory in zip(self._decoder_layers(), state.past, state.memory, strict=True):
            states, extended = layer.step(
                states, layer_past, layer_memory, past_mask=ancestry.unsqueeze(1), memory_mask=memory_mask
            )
            past.append(extended)
        logits = self.project(self.decoder_norm(states))
        new_state = DecoderState(state.source_is_real, state.memory, tuple(past), ancestry, state.length + 1)
        return torch.log_softmax(logits, dim=-1, dtype=torch.float32), new_state

    def _embed(self, tokens: Tensor) -> Tensor:
        """`[batch, length]` to `[batch, length, d_model]`: embeddings plus positions (sections 3.4 and 3.5)."""
        embedded: Tensor = self.dropout(self.embedding(tokens) + self.positions(tokens.shape[1]))
        return embedded

    def _embed_step(self, tokens: Tensor, position: int) -> Tensor:
        """`[sentences, beam]` to `[sentences, beam, d_model]`: all beams stand at one position."""
        embedded: Tensor = self.embedding(tokens) + self.positions(1, start=position)
        return embedded

    def _decoder_layers(self) -> Iterator[DecoderLayer]:
        return cast("Iterator[DecoderLayer]", iter(self.decoder))


def count_parameters(model: nn.Module) -> int:
    """Trainable and frozen numbers of a model; a tied matrix counts once, buffers never."""
    return sum(parameter.numel() for parameter in model.parameters())


def _require_positive(**settings: float) -> None:
    for key, value in settings.items():
        if not value > 0:
            raise UserError(f"model.{key}={value}: must be above 0")


def _require_one_of(allowed: tuple[str, ...], **settings: str) -> None:
    for key, value in settings.items():
        if value not in allowed:
            raise UserError(f"model.{key}={value}: must be {' or '.join(allowed)}")
