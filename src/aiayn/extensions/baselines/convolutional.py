"""A convolutional encoder-decoder (Gehring et al. 2017), a baseline as parallel as the Transformer."""

import math
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.extensions.baselines.state import BaselineState, SourceMemory
from aiayn.flat_tokens import FlatTokens
from aiayn.models.embeddings import TokenEmbedding
from aiayn.models.initialization import projection
from aiayn.models.kernels.dropout import Dropout
from aiayn.models.kernels.matmul import linear
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.translation_model import TranslationModel
from aiayn.models.variants.positions import LearnedPositions

HALVED = math.sqrt(0.5)
"""Keeps the variance of a sum of two."""


class GatedConvolution(nn.Module):
    """A convolution to twice the width, half of which gates the other (GLU)."""

    def __init__(self, *, d_model: int, kernel_size: int, dropout: float) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dropout = Dropout(dropout)
        self.weight = nn.Parameter(torch.empty(2 * d_model, kernel_size * d_model))
        self.bias = nn.Parameter(torch.zeros(2 * d_model))
        # The gate halves the variance and dropout reduces it; this standard deviation preserves it (their A.2).
        nn.init.normal_(self.weight, std=math.sqrt(4 * (1 - dropout) / (kernel_size * d_model)))

    def forward(self, states: Tensor, *, before: int) -> Tensor:
        """Map `[batch, length, d_model]`, zeros at pads, to the same shape.

        Of the k positions of a window, `before` lie before the output's: all but one, or half of them.
        """
        padded = F.pad(self.dropout(states), (0, 0, before, self.kernel_size - 1 - before))
        windows = padded.unfold(1, self.kernel_size, 1).transpose(2, 3).flatten(2)  # [batch, length, k * d_model]
        return self._gated(windows)

    def step(self, windows: Tensor) -> Tensor:
        """Map the k positions up to each new one, `[..., k, d_model]`, to its `[..., d_model]`."""
        return self._gated(windows.flatten(-2))

    def _gated(self, windows: Tensor) -> Tensor:
        return F.glu(linear(windows, self.weight, self.bias))


class AttendingLayer(nn.Module):
    """A block of the decoder: a gated convolution, then dot-product attention to the source."""

    def __init__(self, *, d_model: int, kernel_size: int, dropout: float) -> None:
        super().__init__()
        self.convolution = GatedConvolution(d_model=d_model, kernel_size=kernel_size, dropout=dropout)
        self.query = projection(d_model, d_model, bias=True)

    def attend(self, states: Tensor, embedded: Tensor, memory: SourceMemory) -> Tensor:
        """States `[batch, length, d_model]` plus their attention to the source."""
        query = (self.query(states) + embedded) * HALVED
        scores = torch.matmul(query, memory.keys.transpose(1, 2)).masked_fill(~memory.is_real.unsqueeze(1), -torch.inf)
        found = torch.matmul(torch.softmax(scores, dim=-1), memory.values)
        # A mean over m positions has 1 / m of their variance (their A.1, with m the length of the source).
        found = found * memory.is_real.sum(dim=1).to(found.dtype).sqrt()[:, None, None]
        return (states + found) * HALVED


class ConvolutionalTranslator(TranslationModel[BaselineState]):
    """Stacks of gated convolutions with tied embeddings and learned positions.

    Attention takes the encoder's output for keys, and that plus the source's embeddings for values. Not taken from the
    paper's recipe: weight normalisation, and the scaling of the encoder's gradients.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        d_model: int,
        num_layers: int,
        kernel_size: int,
        dropout: float,
        max_positions: int,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        # Small vectors, as theirs of variance 0.01: their attention is not scaled, and begins nearly uniform.
        self.embedding = TokenEmbedding(vocabulary_size=vocabulary_size, d_model=d_model, is_scaled=False)
        self.source_positions, self.target_positions = (
            LearnedPositions(max_positions=max_positions, d_model=d_model) for _ in range(2)
        )
        self.dropout = Dropout(dropout)
        sizes: dict[str, Any] = {"d_model": d_model, "kernel_size": kernel_size, "dropout": dropout}
        self.encoder = nn.ModuleList(GatedConvolution(**sizes) for _ in range(num_layers))
        self.decoder = nn.ModuleList(AttendingLayer(**sizes) for _ in range(num_layers))
        self.readout = projection(d_model, d_model, bias=True)

    @property
    def output_weight(self) -> Tensor:
        """The matrix of the output layer, `[vocabulary_size, d_model]`: the embeddings' own."""
        return self.embedding.weight

    @property
    def max_length(self) -> int | None:
        """The most tokens of a source or a target, end mark included."""
        return self.target_positions.end

    def encode(self, source: FlatTokens) -> SourceMemory:
        """See `TranslationModel.encode`."""
        view = PaddedView(source.layout)
        kept = view.is_token.unsqueeze(-1)
        states = embedded = self._embed(source, self.source_positions, view)
        for layer in self.encoder:
            states = (states + layer(states * kept, before=self.kernel_size // 2)) * HALVED
        return SourceMemory(states, (states + embedded) * HALVED, view.is_token)

    def decode(self, target_input: FlatTokens, memory: SourceMemory) -> Tensor:
        """See `TranslationModel.decode`."""
        view = PaddedView(target_input.layout)
        states = embedded = self._embed(target_input, self.target_positions, view)
        for layer in self._decoder_layers():
            gated = layer.convolution(states, before=self.kernel_size - 1)
            states = (states + layer.attend(gated, embedded, memory)) * HALVED
        return self._read_out(view.flatten(states))

    def _embed(self, tokens: FlatTokens, positions: LearnedPositions, view: PaddedView) -> Tensor:
        """Embeddings and positions, `[sentences, longest, d_model]`."""
        layout = tokens.layout
        embedded = positions(self.embedding(tokens.ids), layout.positions, longest=layout.longest)
        padded: Tensor = self.dropout(view.pad(embedded))
        return padded

    def first_state(self, memory: SourceMemory) -> BaselineState:
        """See `TranslationModel.first_state`."""
        sentences, _, d_model = memory.keys.shape
        past = [memory.keys.new_zeros(sentences, 1, self.kernel_size - 1, d_model) for _ in self.decoder]
        return BaselineState(memory, past)

    def next_states(self, tokens: Tensor, state: BaselineState) -> Tensor:
        """See `TranslationModel.next_states`."""
        positions = state.advance()
        embedded: Tensor = self.target_positions(self.embedding(tokens), positions, longest=state.longest)
        states = embedded  # [sentences, beam, d_model]
        for number, layer in enumerate(self._decoder_layers()):
            windows = torch.cat([state.past[number], states.unsqueeze(2)], dim=2)
            state.past[number] = windows[:, :, 1:]
            states = (states + layer.attend(layer.convolution.step(windows), embedded, state.memory)) * HALVED
        return self._read_out(states)

    def _read_out(self, states: Tensor) -> Tensor:
        read: Tensor = self.dropout(self.readout(states))
        return read

    def _decoder_layers(self) -> list[AttendingLayer]:
        return cast("list[AttendingLayer]", list(self.decoder))
