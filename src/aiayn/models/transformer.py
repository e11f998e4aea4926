"""The Transformer (section 3)."""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from aiayn.models.architecture import Architecture
from aiayn.models.decoder_state import DecoderState
from aiayn.models.dropout import Dropout
from aiayn.models.embeddings import TiedEmbedding
from aiayn.models.initialization import projection
from aiayn.models.layers import DecoderLayer, EncoderLayer, normalization
from aiayn.models.log_sum_exp import log_sum_exp
from aiayn.models.packing import Packed, Packing
from aiayn.models.positions import positions_table
from aiayn.models.products import ROWS_MULTIPLE
from aiayn.models.translation_model import TranslationModel


class Transformer(TranslationModel[DecoderState]):
    """Encoder and decoder, for training by `forward` and for searching by `begin` and `step`.

    Raises:
        UserError: sinusoids are requested with an odd d_model.
    """

    def __init__(self, architecture: Architecture, *, vocabulary_size: int, pad_id: int = 0) -> None:
        super().__init__()
        assert 0 <= pad_id < vocabulary_size, "pads are looked up as every token is"
        width = architecture.d_model
        self.pad_id = pad_id
        self.embedding = TiedEmbedding(vocabulary_size=vocabulary_size, d_model=width)
        self.own_target_embedding, self.own_output = (
            None if architecture.tied_embeddings else TiedEmbedding(vocabulary_size=vocabulary_size, d_model=width)
            for _ in range(2)
        )
        self.positions = positions_table(architecture)
        self.joining = projection(2 * width, width, bias=False) if architecture.positions == "concatenated" else None
        self.reads_bos = architecture.reads_bos
        self.reach = architecture.reach
        self.dropout = Dropout(architecture.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(architecture) for _ in range(architecture.num_layers))
        self.decoder = nn.ModuleList(DecoderLayer(architecture) for _ in range(architecture.num_layers))
        self.encoder_norm, self.decoder_norm = (
            normalization(architecture) if architecture.norm == "pre" else nn.Identity() for _ in range(2)
        )

    @property
    def output_weight(self) -> Tensor:
        """The matrix of the output layer, `[vocabulary_size, d_model]`: the embeddings' own if they are tied."""
        return (self.own_output or self.embedding).weight

    @property
    def max_length(self) -> int | None:
        """The most tokens of a source or a target, end mark included; None: any number."""
        return None if self.positions is None else self.positions.end

    def states(self, source: Tensor, target_input: Tensor) -> Tensor:
        """The decoder's states of every target position, pads too: `[batch * target_len, d_model]`, to be compiled.

        One graph for all shapes: padding is not removed. Arguments as for `forward`.
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
        states = self._embed(target_input, packing, is_target=True)
        for layer in self._decoder_layers():
            keys_values = layer.cross_attention.keys_values(memory)
            states = layer(states, packing, keys_values, memory_is_real=memory.packing.is_real)
        return Packed(self.decoder_norm(states), packing)

    @torch.no_grad()
    def begin(self, source: Tensor) -> DecoderState:
        """Encode sources int64 `[sentences, source_len]`; each has one beam that has read nothing yet."""
        assert not self.training, "a search would be disturbed by dropout: call eval() first"
        memory = self.encode(source)
        keys_values = [layer.cross_attention.keys_values(memory) for layer in self._decoder_layers()]
        return DecoderState(keys_values, source != self.pad_id, reach=self.reach)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, Tensor]:
        """Read one token per beam and predict the next.

        Args:
            tokens: int64 `[sentences, beam]`; bos at the first step, where every sentence has one beam.
            state: from `begin`; afterwards the state after `tokens`.

        Returns:
            Logits of the next token `[sentences, beam, vocabulary_size]`, which may be overwritten, and their
            normalizers, float32 `[sentences, beam]`, to be subtracted for log-probabilities.
        """
        assert tokens.shape == state.ancestry.shape[:2], "one token for every beam of the state"
        columns = state.lengths
        states = self._embed_step(tokens, columns)
        slots = state.open_slots()
        past_bias = state.past_bias()
        for layer, past, memory in zip(self._decoder_layers(), state.past, state.memory, strict=True):
            states = layer.step(
                states,
                past,
                memory,
                slots=slots,
                columns=columns,
                past_bias=past_bias,
                memory_bias=state.memory_bias,
            )
        logits = self.project(self.decoder_norm(states))
        return logits, log_sum_exp(logits)

    def _packing(self, tokens: Tensor) -> Packing:
        return Packing.of(tokens != self.pad_id, multiple=ROWS_MULTIPLE if torch.is_grad_enabled() else 1)

    def _embed(self, tokens: Tensor, packing: Packing, *, is_target: bool = False) -> Tensor:
        """`[batch, length]` to `[positions, d_model]`: embeddings plus positions (sections 3.4 and 3.5)."""
        columns = packing.columns()
        tokens = tokens if columns is None else packing.pack(tokens)
        embedded = self._looked_up(tokens, is_target=is_target)
        places = None if self.positions is None else self.positions(packing.length)
        if is_target and not self.reads_bos:
            in_order = torch.arange(packing.length, device=tokens.device) if columns is None else columns
            embedded = _without_first(embedded, in_order)
        if columns is not None and places is not None:
            places = places.index_select(0, columns)
        placed = self._placed(embedded, places)
        result: Tensor = self.dropout(placed.flatten(0, 1) if columns is None else placed)
        return result

    def _embed_step(self, tokens: Tensor, columns: Tensor) -> Tensor:
        """`[sentences, beam]` to `[sentences, beam, d_model]`; the beams of a sentence are at one column."""
        embedded = self._looked_up(tokens, is_target=True)
        if not self.reads_bos:
            embedded = _without_first(embedded, columns.unsqueeze(1))
        if self.positions is None:
            return embedded
        first, last = torch.stack(columns.aminmax()).tolist()
        places = self.positions(last - first + 1, start=first).index_select(0, columns - first)
        return self._placed(embedded, places.unsqueeze(1))

    def _looked_up(self, tokens: Tensor, *, is_target: bool) -> Tensor:
        own = self.own_target_embedding if is_target else None
        embedded: Tensor = (own or self.embedding)(tokens)
        return embedded

    def _placed(self, embedded: Tensor, places: Tensor | None) -> Tensor:
        """Add or concatenate positions to embeddings `[..., d_model]`, to which they broadcast."""
        if places is None:
            return embedded
        if self.joining is None:
            return embedded + places
        joined: Tensor = self.joining(torch.cat([embedded, places.expand_as(embedded)], dim=-1))
        return joined

    def _decoder_layers(self) -> Iterator[DecoderLayer]:
        return cast("Iterator[DecoderLayer]", iter(self.decoder))


def _without_first(embedded: Tensor, columns: Tensor) -> Tensor:
    """Zeros at the first column; embedded `[..., d_model]`, columns int64 that broadcast to `[...]`."""
    return embedded.masked_fill((columns == 0).unsqueeze(-1), 0.0)


def count_parameters(model: nn.Module) -> int:
    """Trainable and frozen parameters; a tied matrix counts once, buffers never."""
    return sum(parameter.numel() for parameter in model.parameters())
