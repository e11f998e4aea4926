"""A convolutional encoder-decoder (Gehring et al. 2017), a baseline as parallel as the Transformer."""

import math
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.architecture import ConvolutionalArchitecture
from aiayn.models.baselines.convolutional_state import ConvolutionalState, SourceMemory
from aiayn.models.dropout import Dropout
from aiayn.models.embeddings import TiedEmbedding
from aiayn.models.initialization import projection
from aiayn.models.log_sum_exp import log_sum_exp
from aiayn.models.packing import Packed, Packing
from aiayn.models.positions import LearnedPositions
from aiayn.models.products import ROWS_MULTIPLE, linear
from aiayn.models.translation_model import TranslationModel

HALVED = math.sqrt(0.5)
"""Keeps the variance of a sum of two."""


class GatedConvolution(nn.Module):
    """A convolution to twice the width, half of which gates the other (GLU)."""

    def __init__(self, architecture: ConvolutionalArchitecture) -> None:
        super().__init__()
        width, self.kernel_size = architecture.d_model, architecture.kernel_size
        self.dropout = Dropout(architecture.dropout)
        self.weight = nn.Parameter(torch.empty(2 * width, self.kernel_size * width))
        self.bias = nn.Parameter(torch.zeros(2 * width))
        # The gate halves what passes, dropout takes its share: this starts with the variance that comes in (their A.2).
        nn.init.normal_(self.weight, std=math.sqrt(4 * (1 - architecture.dropout) / (self.kernel_size * width)))

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

    def __init__(self, architecture: ConvolutionalArchitecture) -> None:
        super().__init__()
        self.convolution = GatedConvolution(architecture)
        self.query = projection(architecture.d_model, architecture.d_model, bias=True)

    def attend(self, states: Tensor, embedded: Tensor, memory: SourceMemory) -> Tensor:
        """States `[batch, length, d_model]` plus their attention to the source."""
        query = (self.query(states) + embedded) * HALVED
        scores = torch.matmul(query, memory.keys.transpose(1, 2)).masked_fill(~memory.is_real.unsqueeze(1), -torch.inf)
        found = torch.matmul(torch.softmax(scores, dim=-1), memory.values)
        # A mean over m positions has 1 / m of their variance (their A.1, with m the length of the source).
        found = found * memory.is_real.sum(dim=1).to(found.dtype).sqrt()[:, None, None]
        return (states + found) * HALVED


class ConvolutionalTranslator(TranslationModel[ConvolutionalState]):
    """Stacks of gated convolutions with tied embeddings and learned positions.

    Attention takes the encoder's output for keys, and that plus the source's embeddings for values. Not taken from the
    paper's recipe: weight normalisation, and the scaling of the encoder's gradients.
    """

    def __init__(self, architecture: ConvolutionalArchitecture, *, vocabulary_size: int, pad_id: int = 0) -> None:
        super().__init__()
        self.architecture = architecture
        self.pad_id = pad_id
        width = architecture.d_model
        # Small vectors, as theirs of variance 0.01: their attention is not scaled, and begins nearly uniform.
        self.embedding = TiedEmbedding(vocabulary_size=vocabulary_size, d_model=width, is_scaled=False)
        self.source_positions, self.target_positions = (
            LearnedPositions(max_positions=architecture.max_positions, d_model=width) for _ in range(2)
        )
        self.dropout = Dropout(architecture.dropout)
        self.encoder = nn.ModuleList(GatedConvolution(architecture) for _ in range(architecture.num_layers))
        self.decoder = nn.ModuleList(AttendingLayer(architecture) for _ in range(architecture.num_layers))
        self.readout = projection(width, width, bias=True)

    @property
    def output_weight(self) -> Tensor:
        """The matrix of the output layer, `[vocabulary_size, d_model]`: the embeddings' own."""
        return self.embedding.weight

    @property
    def max_length(self) -> int:
        """The most tokens of a source or a target, end mark included."""
        return self.architecture.max_positions

    def encode(self, source: Tensor) -> SourceMemory:
        """Read sources int64 `[batch, source_len]`, pads at the end."""
        is_real = source != self.pad_id
        kept = is_real.unsqueeze(-1)
        embedded: Tensor = self.dropout(self.embedding(source) + self.source_positions(source.shape[1]))
        states = embedded
        for layer in self.encoder:
            states = (states + layer(states * kept, before=self.architecture.kernel_size // 2)) * HALVED
        return SourceMemory(states, (states + embedded) * HALVED, is_real)

    def decode(self, target_input: Tensor, memory: SourceMemory) -> Packed:
        """See `TranslationModel.decode`."""
        positions = self.target_positions(target_input.shape[1])
        embedded: Tensor = self.dropout(self.embedding(target_input) + positions)
        states = embedded
        for layer in self._decoder_layers():
            gated = layer.convolution(states, before=self.architecture.kernel_size - 1)
            states = (states + layer.attend(gated, embedded, memory)) * HALVED
        packing = Packing.of(target_input != self.pad_id, multiple=ROWS_MULTIPLE if torch.is_grad_enabled() else 1)
        return Packed(self._read_out(packing.pack(states)), packing)

    @torch.no_grad()
    def begin(self, source: Tensor) -> ConvolutionalState:
        """See `TranslationModel.begin`."""
        assert not self.training, "a search would be disturbed by dropout: call eval() first"
        memory = self.encode(source)
        width, shape = self.architecture.d_model, (len(source), 1, self.architecture.kernel_size - 1)
        return ConvolutionalState(memory, [memory.keys.new_zeros(*shape, width) for _ in self.decoder])

    @torch.no_grad()
    def step(self, tokens: Tensor, state: ConvolutionalState) -> tuple[Tensor, Tensor]:
        """See `Transformer.step`."""
        first, last = torch.stack(state.lengths.aminmax()).tolist()
        places = self.target_positions(last - first + 1, start=first).index_select(0, state.lengths - first)
        embedded: Tensor = self.embedding(tokens) + places.unsqueeze(1)
        states = embedded  # [sentences, beam, d_model]
        for number, layer in enumerate(self._decoder_layers()):
            windows = torch.cat([state.past[number], states.unsqueeze(2)], dim=2)
            state.past[number] = windows[:, :, 1:]
            states = (states + layer.attend(layer.convolution.step(windows), embedded, state.memory)) * HALVED
        state.lengths = state.lengths + 1
        logits = self.project(self._read_out(states))
        return logits, log_sum_exp(logits)

    def _read_out(self, states: Tensor) -> Tensor:
        read: Tensor = self.dropout(self.readout(states))
        return read

    def _decoder_layers(self) -> list[AttendingLayer]:
        return cast("list[AttendingLayer]", list(self.decoder))
