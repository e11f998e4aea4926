"""The Transformer (section 3)."""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from aiayn.models.architecture import Architecture
from aiayn.models.attention import padding_mask
from aiayn.models.cost import Cost
from aiayn.models.decoder_state import DecoderState
from aiayn.models.dropout import Dropout
from aiayn.models.embeddings import TiedEmbedding
from aiayn.models.keys_values import Past
from aiayn.models.layers import DecoderLayer, EncoderLayer
from aiayn.models.packing import Packed, Packing
from aiayn.models.positions import LearnedPositions, SinusoidalPositions


class Transformer(nn.Module):
    """Encoder and decoder with tied embeddings, for training by `forward` and for searching by `begin` and `step`.

    Args:
        architecture: sizes and choices.
        vocabulary_size: rows of the one embedding matrix.
        pad_id: fills sentences up at their ends. Every source needs one real token.

    Raises:
        UserError: sinusoids are asked for with an odd d_model.
    """

    def __init__(self, architecture: Architecture, *, vocabulary_size: int, pad_id: int = 0) -> None:
        super().__init__()
        assert 0 <= pad_id < vocabulary_size, "pads are looked up as every token is"
        width = architecture.d_model
        self.cost = Cost(architecture, vocabulary_size)
        self.pad_id = pad_id
        self.embedding = TiedEmbedding(vocabulary_size=vocabulary_size, d_model=width)
        kind = SinusoidalPositions if architecture.positions == "sinusoidal" else LearnedPositions
        self.positions: SinusoidalPositions | LearnedPositions = kind(
            max_positions=architecture.max_positions, d_model=width
        )
        self.dropout = Dropout(architecture.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(architecture) for _ in range(architecture.num_layers))
        self.decoder = nn.ModuleList(DecoderLayer(architecture) for _ in range(architecture.num_layers))
        self.encoder_norm, self.decoder_norm = (
            nn.LayerNorm(width, eps=architecture.layer_norm_epsilon) if architecture.norm == "pre" else nn.Identity()
            for _ in range(2)
        )

    @property
    def output_weight(self) -> Tensor:
        """The matrix of the output layer, `[vocabulary_size, d_model]`: the embeddings' own."""
        return self.embedding.weight

    @property
    def max_length(self) -> int | None:
        """The most tokens of a source or a target, end mark included; None: any number."""
        return self.positions.end

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Logits of every next token, `[batch, target_len, vocabulary_size]`, given those before it.

        Args:
            source: int64 `[batch, source_len]`, pads at the end.
            target_input: int64 `[batch, target_len]`, the target shifted right behind bos, pads at the end.
        """
        states, packing = self.decode(target_input, self.encode(source))
        return packing.unpack(self.project(states))

    def encode(self, source: Tensor) -> Packed:
        """Run the encoder over sources int64 `[batch, source_len]`."""
        packing = Packing.of(source != self.pad_id)
        states = self._embed(source, packing)
        for layer in self.encoder:
            states = layer(states, packing)
        return Packed(self.encoder_norm(states), packing)

    def decode(self, target_input: Tensor, memory: Packed) -> Packed:
        """Run the decoder over all positions of int64 `[batch, target_len]`, pads at the end."""
        packing = Packing.of(target_input != self.pad_id)
        states = self._embed(target_input, packing)
        for layer in self._decoder_layers():
            keys_values = layer.cross_attention.keys_values(memory)
            states = layer(states, packing, keys_values, memory_mask=memory.packing.mask)
        return Packed(self.decoder_norm(states), packing)

    def project(self, states: Tensor) -> Tensor:
        """Logits `[..., vocabulary_size]` of decoder states `[..., d_model]`, through the embeddings' own matrix."""
        return self.embedding.project(states)

    @torch.no_grad()
    def begin(self, source: Tensor) -> DecoderState:
        """Encode sources int64 `[sentences, source_len]`; each has one beam that has read nothing yet."""
        assert not self.training, "a search would be disturbed by dropout: call eval() first"
        memory, is_real = self.encode(source), source != self.pad_id
        keys_values = tuple(layer.cross_attention.keys_values(memory) for layer in self._decoder_layers())
        sentences = len(source)
        return DecoderState(
            source_is_real=is_real,
            memory=keys_values,
            past=tuple(Past.like(layer) for layer in keys_values),
            ancestry=is_real.new_empty(sentences, 1, 0),
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
        logits = torch.unflatten(self.project(self.decoder_norm(states)), 0, tuple(tokens.shape))
        new_state = DecoderState(state.source_is_real, state.memory, tuple(past), ancestry, state.length + 1)
        return torch.log_softmax(logits, dim=-1, dtype=torch.float32), new_state

    def _embed(self, tokens: Tensor, packing: Packing) -> Tensor:
        """`[batch, length]` to `[positions, d_model]`: embeddings plus positions (sections 3.4 and 3.5)."""
        positions, columns = self.positions(tokens.shape[1]), packing.columns()
        if columns is None:
            embedded = (self.embedding(tokens) + positions).flatten(0, 1)
        else:
            embedded = self.embedding(packing.pack(tokens)) + positions.index_select(0, columns)
        result: Tensor = self.dropout(embedded)
        return result

    def _embed_step(self, tokens: Tensor, position: int) -> Tensor:
        """`[sentences, beam]` to `[sentences * beam, d_model]`: all beams stand at one position."""
        embedded: Tensor = self.embedding(tokens.flatten()) + self.positions(1, start=position)
        return embedded

    def _decoder_layers(self) -> Iterator[DecoderLayer]:
        return cast("Iterator[DecoderLayer]", iter(self.decoder))


def count_parameters(model: nn.Module) -> int:
    """Trainable and frozen numbers of a model; a tied matrix counts once, buffers never."""
    return sum(parameter.numel() for parameter in model.parameters())
