"""The Transformer (section 3): embeddings and positions, the stacks of encoder and decoder, the output layer.

A batch has no pads: its sentences lie end to end, as *flat tokens*. Here are two sentences, "A B C" and "D E", and a
filler, which belongs to no sentence and makes the number of tokens a convenient one:

    FlatTokens.ids      A  B  C  D  E  .      [tokens]
    Layout.positions    0  1  2  0  1  0      [tokens]
    Layout.offsets      0        3     5  6   [sentences + 2]

All but attention maps each token by itself, `[tokens, d_model]` to `[tokens, d_model]`. Attention has a *context*,
which knows the sentences, and so the keys that each query may attend to (x):

    self-attention     A  B  C  D  E        in the decoder     A  B  C  D  E
                  A    x  x  x                             A   x
                  B    x  x  x                             B   x  x
                  C    x  x  x                             C   x  x  x
                  D             x  x                       D            x
                  E             x  x                       E            x  x

Code that needs whole sentences pads them, to `[sentences, longest, ...]`, by `kernels.padded_view.PaddedView`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias, cast

from torch import Tensor, nn

from aiayn.flat_tokens import FlatTokens
from aiayn.models.embeddings import Embeddings, TokenEmbedding
from aiayn.models.kernels.decoder_state import DecoderState
from aiayn.models.kernels.dropout import Dropout
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.kernels.sentence_context import SentenceContext
from aiayn.models.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from aiayn.models.multi_head_attention import CrossAttention, SelfAttention
from aiayn.models.positions import PositionalEncoding, SinusoidalPositions
from aiayn.models.translation_model import TranslationModel

Memory: TypeAlias = tuple[Tensor, PaddedView]
"""The encoder's output `[source_tokens, d_model]`, and the places of its sentences."""


class Transformer(TranslationModel[DecoderState]):
    """Encoder and decoder. Training calls `states`, a search `begin` and `step`: methods of `TranslationModel`.

    The defaults are the paper's parts; `create_transformer` of `aiayn.builders.models` passes others. Sub-layers are
    made by calls with their sizes, `end_norm(d_model)` makes a normalisation at the end of each stack, and `reach` is
    the largest distance of a position that self-attention sees, for dot products; None: any. UserError if sinusoids are
    requested with an odd d_model.
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
        embeddings: Embeddings | None = None,
        positions: PositionalEncoding | None = None,
        self_attention: Callable[..., SelfAttention] = SelfAttention,
        cross_attention: Callable[..., CrossAttention] = CrossAttention,
        feed_forward: Callable[..., FeedForward] = FeedForward,
        residual: Callable[..., Residual] = Residual,
        end_norm: Callable[[int], nn.Module] = nn.Identity,
        reach: int | None = None,
    ) -> None:
        super().__init__()
        given = embeddings or Embeddings(TokenEmbedding(vocabulary_size=vocabulary_size, d_model=d_model))
        self.embedding, self.untied_target_embedding, self.untied_output = given.source, given.target, given.output
        self.output_bias, self.target_space = given.output_bias, given.target_space
        self.starts_with_zeros = given.decoder_start == "zeros"
        self.target_start = "bos" if self.starts_with_zeros else given.decoder_start
        self.positions = positions or SinusoidalPositions(max_positions=max_positions, d_model=d_model)
        self.reach = reach
        self.dropout = Dropout(dropout)
        heads = {"d_model": d_model, "num_heads": num_heads, "d_k": d_k, "d_v": d_v}
        width = {"d_model": d_model, "d_ff": d_ff}
        connection = partial(residual, d_model=d_model, dropout=dropout)
        self.encoder = nn.ModuleList(
            EncoderLayer(self_attention(**heads), feed_forward(**width), connection) for _ in range(num_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(self_attention(**heads), cross_attention(**heads), feed_forward(**width), connection)
            for _ in range(num_layers)
        )
        self.encoder_norm, self.decoder_norm = end_norm(d_model), end_norm(d_model)

    @property
    def output_weight(self) -> Tensor:
        """The output layer's matrix `[vocabulary_size, d_model]`: if tied, the embeddings' own (section 3.4)."""
        return (self.untied_output or self.embedding).weight

    @property
    def max_length(self) -> int | None:
        """The most tokens of a source or a target, end mark included; None: any number."""
        return self.positions.end

    def encode(self, source: FlatTokens) -> Memory:
        """Run the encoder."""
        view = PaddedView(source.layout)
        own = SentenceContext(view, view, reach=self.reach)
        layout = source.layout
        states = self._placed(self.source_embeddings(source.ids), layout.positions, longest=layout.longest)
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
        embedded = self.target_embeddings(target_input.ids, layout.positions)
        states = self._placed(embedded, layout.positions, longest=layout.longest)
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
        states = self._placed(self.target_embeddings(tokens, positions), positions, longest=state.longest)
        for layer, own, memory in zip(self._decoder_layers(), past, state.memory, strict=True):
            states = layer(states, own, source, memory)
        return cast("Tensor", self.decoder_norm(states))

    def source_embeddings(self, tokens: Tensor) -> Tensor:
        """Embed ids of sources `[...]` (section 3.4): `[..., d_model]`."""
        embedded: Tensor = self.embedding(tokens)
        return embedded if self.target_space is None else embedded + self.target_space

    def target_embeddings(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Embed ids of targets `[...]` (section 3.4): `[..., d_model]`."""
        embedded: Tensor = (self.untied_target_embedding or self.embedding)(tokens)
        return embedded.masked_fill((positions == 0).unsqueeze(-1), 0.0) if self.starts_with_zeros else embedded

    def _placed(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        """Add positions and apply dropout to the sums (sections 3.5 and 5.4)."""
        return cast("Tensor", self.dropout(self.positions(embedded, positions, longest=longest)))

    def _decoder_layers(self) -> Iterator[DecoderLayer]:
        return cast("Iterator[DecoderLayer]", iter(self.decoder))
