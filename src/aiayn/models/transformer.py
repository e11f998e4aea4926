"""The Transformer (section 3)."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

import torch
from torch import Tensor, nn

from aiayn.flat_tokens import FlatTokens
from aiayn.models.attention import MultiHeadAttention
from aiayn.models.attention_context import SentenceContext
from aiayn.models.decoder_state import DecoderState
from aiayn.models.dropout import Dropout
from aiayn.models.embeddings import TokenEmbedding
from aiayn.models.initialization import target_space
from aiayn.models.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from aiayn.models.padded_view import PaddedView
from aiayn.models.translation_model import TranslationModel
from aiayn.models.variants.attention import attention_function
from aiayn.models.variants.positions import RotaryPositions, positional_encoding

Memory: TypeAlias = tuple[Tensor, PaddedView]
"""The encoder's output `[source_tokens, d_model]`, and the places of its sentences."""


class Transformer(TranslationModel[DecoderState]):
    """Encoder and decoder. Training calls `states`, a search `begin` and `step`: methods of `TranslationModel`.

    The arguments are the fields of `config.model_schema.TransformerConfig`, explained there; defaults are the paper's.
    UserError if sinusoids are requested with an odd d_model.
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
        max_positions: int,
        attention: str = "scaled_dot",
        neighbourhood: int | None = None,
        positions: str = "sinusoidal",
        norm: str = "post",
        normalization: str = "layer",
        residual: bool = True,
        attention_dropout: float = 0.0,
        activation: str = "relu",
        activation_dropout: float = 0.0,
        tied_embeddings: bool = True,
        output_bias: bool = False,
        decoder_start: str = "bos",
        position_offset: int = 0,
        target_space_embedding: bool = False,
        projection_bias: bool = False,
        layer_norm_epsilon: float = 1e-6,
        attention_arguments: Mapping[str, Any] | None = None,
        positions_arguments: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()

        def attention_layer(*, is_self: bool) -> MultiHeadAttention:
            return MultiHeadAttention(
                d_model=d_model,
                num_heads=num_heads,
                d_k=d_k,
                d_v=d_v,
                function=attention_function(attention, num_heads=num_heads, d_k=d_k, arguments=attention_arguments),
                is_self=is_self,
                bias=projection_bias,
                dropout=attention_dropout,
                rotary=RotaryPositions(d_k) if is_self and positions == "rotary" else None,
            )

        def feed_forward() -> FeedForward:
            return FeedForward(d_model=d_model, d_ff=d_ff, activation=activation, dropout=activation_dropout)

        def normalize() -> nn.Module:
            return (nn.LayerNorm if normalization == "layer" else nn.RMSNorm)(d_model, eps=layer_norm_epsilon)

        def connection() -> Residual:
            return Residual(normalize(), dropout=dropout, is_pre=norm == "pre", adds=residual)

        self.embedding = TokenEmbedding(vocabulary_size=vocabulary_size, d_model=d_model)
        self.untied_target_embedding, self.untied_output = (
            None if tied_embeddings else TokenEmbedding(vocabulary_size=vocabulary_size, d_model=d_model)
            for _ in range(2)
        )
        self.output_bias = nn.Parameter(torch.zeros(vocabulary_size)) if output_bias else None
        self.target_space = target_space(d_model) if target_space_embedding else None
        self.positions = positional_encoding(
            positions, positions_arguments, max_positions=max_positions, d_model=d_model, offset=position_offset
        )
        self.starts_with_zeros = decoder_start == "zeros"
        self.target_start = "bos" if self.starts_with_zeros else decoder_start
        self.reach = neighbourhood // 2 if neighbourhood and attention == "restricted" else None
        self.dropout = Dropout(dropout)
        self.encoder = nn.ModuleList(
            EncoderLayer(attention_layer(is_self=True), feed_forward(), connection) for _ in range(num_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(attention_layer(is_self=True), attention_layer(is_self=False), feed_forward(), connection)
            for _ in range(num_layers)
        )
        self.encoder_norm, self.decoder_norm = (normalize() if norm == "pre" else nn.Identity() for _ in range(2))

    @property
    def output_weight(self) -> Tensor:
        """The matrix of the output layer, `[vocabulary_size, d_model]`: the embeddings' own if they are tied."""
        return (self.untied_output or self.embedding).weight

    @property
    def max_length(self) -> int | None:
        """The most tokens of a source or a target, end mark included; None: any number."""
        return self.positions.end

    def encode(self, source: FlatTokens) -> Memory:
        """Run the encoder."""
        view = PaddedView(source.layout)
        own = SentenceContext(view, view, reach=self.reach)
        states = self._embed(source.ids, source.layout.positions, longest=source.layout.longest)
        for layer in self.encoder:
            states = layer(states, own)
        return self.encoder_norm(states), view

    def decode(self, target_input: FlatTokens, memory: Memory) -> Tensor:
        """Run the decoder over all positions at once: its states, `[tokens, d_model]`."""
        (encoded, source_view), view = memory, PaddedView(target_input.layout)
        # Section 3.2.3: `own` for the decoder's self-attention, `source` for attention to the encoder's output.
        own = SentenceContext(view, view, is_causal=True, reach=self.reach)
        source = SentenceContext(view, source_view)
        layout = target_input.layout
        states = self._embed(target_input.ids, layout.positions, longest=layout.longest, is_target=True)
        for layer in self._decoder_layers():
            states = layer(states, own, source, layer.cross_attention.keys_values(encoded))
        return cast("Tensor", self.decoder_norm(states))

    def first_state(self, memory: Memory) -> DecoderState:
        """See `TranslationModel.first_state`."""
        encoded, view = memory
        keys_values = [layer.cross_attention.keys_values(encoded) for layer in self._decoder_layers()]
        return DecoderState(keys_values, view, reach=self.reach)

    def next_states(self, tokens: Tensor, state: DecoderState) -> Tensor:
        """See `TranslationModel.next_states`."""
        past, source = state.advance(tokens.shape[1])
        positions = past[0].positions
        states = self._embed(tokens, positions, longest=state.longest, is_target=True)
        for layer, own, memory in zip(self._decoder_layers(), past, state.memory, strict=True):
            states = layer(states, own, source, memory)
        return cast("Tensor", self.decoder_norm(states))

    def _embed(self, tokens: Tensor, positions: Tensor, *, longest: int, is_target: bool = False) -> Tensor:
        """Embed ids `[...]`, add positions and apply dropout (sections 3.4, 3.5 and 5.4): `[..., d_model]`."""
        untied = self.untied_target_embedding if is_target else None
        embedded: Tensor = (untied or self.embedding)(tokens)
        if is_target and self.starts_with_zeros:
            embedded = embedded.masked_fill((positions == 0).unsqueeze(-1), 0.0)
        if not is_target and self.target_space is not None:
            embedded = embedded + self.target_space
        return cast("Tensor", self.dropout(self.positions(embedded, positions, longest=longest)))

    def _decoder_layers(self) -> Iterator[DecoderLayer]:
        return cast("Iterator[DecoderLayer]", iter(self.decoder))
