"""The Transformer (section 3)."""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from aiayn.models.architecture import Architecture
from aiayn.models.cost import Cost
from aiayn.models.decoder_state import DecoderState
from aiayn.models.dropout import Dropout
from aiayn.models.embeddings import TiedEmbedding
from aiayn.models.layers import DecoderLayer, EncoderLayer
from aiayn.models.log_sum_exp import log_sum_exp
from aiayn.models.packing import Packed, Packing
from aiayn.models.positions import LearnedPositions, SinusoidalPositions
from aiayn.models.products import ROWS_MULTIPLE


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

    def states(self, source: Tensor, target_input: Tensor) -> Tensor:
        """The decoder's states of every target position, pads too: `[batch * target_len, d_model]`, to be compiled.

        One graph for all shapes: which positions are pads is not looked at. Arguments as for `forward`.
        """
        memory = self._encode(source, Packing.unlooked(source != self.pad_id))
        return self._decode(target_input, Packing.unlooked(target_input != self.pad_id), memory).states

    def encode(self, source: Tensor) -> Packed:
        """Run the encoder over sources int64 `[batch, source_len]`."""
        return self._encode(source, self._packing(source))

    def _encode(self, source: Tensor, packing: Packing) -> Packed:
        states = self._embed(source, packing)
        for layer in self.encoder:
            states = layer(states, packing)
        return Packed(self.encoder_norm(states), packing)

    def decode(self, target_input: Tensor, memory: Packed) -> Packed:
        """Run the decoder over all positions of int64 `[batch, target_len]`, pads at the end."""
        return self._decode(target_input, self._packing(target_input), memory)

    def _decode(self, target_input: Tensor, packing: Packing, memory: Packed) -> Packed:
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
        memory = self.encode(source)
        keys_values = [layer.cross_attention.keys_values(memory) for layer in self._decoder_layers()]
        return DecoderState(keys_values, source != self.pad_id)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, Tensor]:
        """Read one token a beam and predict the next.

        Args:
            tokens: int64 `[sentences, beam]`; bos at the first step, where every sentence has one beam.
            state: from `begin`; afterwards the state after `tokens`.

        Returns:
            Logits of the next token `[sentences, beam, vocabulary_size]`, a tensor of their own, and what to take from
            them for log-probabilities, float32 `[sentences, beam]`.
        """
        assert tokens.shape == state.ancestry.shape[:2], "one token for every beam of the state"
        states = self._embed_step(tokens, state.lengths)
        slots = state.open_slots()
        past_bias = state.past_bias()
        for layer, past, memory in zip(self._decoder_layers(), state.past, state.memory, strict=True):
            states = layer.step(states, past, memory, slots=slots, past_bias=past_bias, memory_bias=state.memory_bias)
        logits = self.project(self.decoder_norm(states))
        return logits, log_sum_exp(logits)

    def _packing(self, tokens: Tensor) -> Packing:
        return Packing.of(tokens != self.pad_id, multiple=ROWS_MULTIPLE if torch.is_grad_enabled() else 1)

    def _embed(self, tokens: Tensor, packing: Packing) -> Tensor:
        """`[batch, length]` to `[positions, d_model]`: embeddings plus positions (sections 3.4 and 3.5)."""
        positions, columns = self.positions(tokens.shape[1]), packing.columns()
        if columns is None:
            embedded = (self.embedding(tokens) + positions).flatten(0, 1)
        else:
            embedded = self.embedding(packing.pack(tokens)) + positions.index_select(0, columns)
        result: Tensor = self.dropout(embedded)
        return result

    def _embed_step(self, tokens: Tensor, columns: Tensor) -> Tensor:
        """`[sentences, beam]` to `[sentences, beam, d_model]`; the beams of a sentence all stand at one column."""
        first, last = torch.stack(columns.aminmax()).tolist()
        positions = self.positions(last - first + 1, start=first).index_select(0, columns - first)
        embedded: Tensor = self.embedding(tokens) + positions.unsqueeze(1)
        return embedded

    def _decoder_layers(self) -> Iterator[DecoderLayer]:
        return cast("Iterator[DecoderLayer]", iter(self.decoder))


def count_parameters(model: nn.Module) -> int:
    """Trainable and frozen numbers of a model; a tied matrix counts once, buffers never."""
    return sum(parameter.numel() for parameter in model.parameters())
