"""Recurrent encoder-decoders, the baselines of section 1: fixed context, additive and dot attention."""

from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from aiayn.extensions.baselines.state import BaselineState, SourceMemory
from aiayn.flat_tokens import FlatTokens
from aiayn.models.embeddings import TokenEmbedding
from aiayn.models.initialization import projection
from aiayn.models.kernels.dropout import Dropout
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.translation_model import TranslationModel

Hidden: TypeAlias = tuple[Tensor, ...]
"""The hidden state of a GRU, or state and cell of an LSTM, each `[num_layers, batch, d_model]`."""


class _Encoded(NamedTuple):
    memory: SourceMemory
    hidden: Hidden
    """Initial, of the decoder."""


class RecurrentTranslator(TranslationModel[BaselineState]):
    """An encoder and a decoder of recurrent layers with tied embeddings.

    - **none**: the encoder reads the source backwards (Sutskever et al. 2014); its last states initialise the decoder,
      and the topmost, the context, is an input of every step (Cho et al. 2014).
    - **additive**: the encoder reads both ways; before each step the decoder attends with its last state, by v^T tanh(W
      s + U h), and reads the result beside the token (Bahdanau et al. 2015).
    - **dot**: the encoder reads both ways; the decoder's states attend by products after the step, and the result is
      not fed back (Luong et al. 2015, "dot"), so that all positions are trained at once.

    The output layer reads tanh(W [state; found]), `found` being the context or the result of attention.
    """

    def __init__(
        self, *, vocabulary_size: int, d_model: int, num_layers: int, cell: str, attention: str, dropout: float
    ) -> None:
        super().__init__()
        width, layers = d_model, num_layers
        self.attention, self.num_layers, is_attentive = attention, num_layers, attention != "none"
        self.embedding = TokenEmbedding(vocabulary_size=vocabulary_size, d_model=width)
        self.dropout = Dropout(dropout)
        kernel = nn.GRU if cell == "gru" else nn.LSTM
        layer_dropout = dropout if layers > 1 else 0.0
        per_direction = width // 2 if is_attentive else width
        self.encoder = kernel(
            width, per_direction, layers, batch_first=True, bidirectional=is_attentive, dropout=layer_dropout
        )
        reads_found = attention != "dot"
        self.decoder = kernel(
            2 * width if reads_found else width, width, layers, batch_first=True, dropout=layer_dropout
        )
        self.beginning = projection(width, layers * width, bias=True) if is_attentive else None
        is_additive = attention == "additive"
        self.query = projection(width, width, bias=False) if is_additive else None
        self.key = projection(width, width, bias=False) if is_additive else None
        self.vector = nn.Parameter(nn.init.normal_(torch.empty(width), std=width**-0.5)) if is_additive else None
        self.readout = projection(2 * width, width, bias=True)

    @property
    def output_weight(self) -> Tensor:
        """The matrix of the output layer, `[vocabulary_size, d_model]`: the embeddings' own."""
        return self.embedding.weight

    @property
    def max_length(self) -> None:
        """The most tokens of a source or a target: any number."""

    def encode(self, source: FlatTokens) -> _Encoded:
        """See `TranslationModel.encode`."""
        view = PaddedView(source.layout)
        is_real = view.is_token
        lengths = is_real.sum(dim=1)
        tokens = view.pad(source.ids)
        tokens = tokens if self.beginning is not None else _backwards(tokens, lengths)
        embedded: Tensor = self.dropout(self.embedding(tokens))
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.encoder(packed)
        states, _ = pad_packed_sequence(outputs, batch_first=True, total_length=tokens.shape[1])
        hidden = last if isinstance(last, tuple) else (last,)
        if self.beginning is None:
            context = hidden[0][-1].unsqueeze(1)  # [batch, 1, d_model]
            return _Encoded(SourceMemory(context, context, is_real[:, :1]), hidden)
        mean = (states * is_real.unsqueeze(-1)).sum(dim=1) / lengths.unsqueeze(1)
        first = torch.unflatten(torch.tanh(self.beginning(mean)), 1, (self.num_layers, -1)).transpose(0, 1)
        began = (first.contiguous(), torch.zeros_like(first))[: len(hidden)]
        keys = states if self.key is None else self.key(states)
        return _Encoded(SourceMemory(keys, states, is_real), began)

    def decode(self, target_input: FlatTokens, encoded: _Encoded) -> Tensor:
        """See `TranslationModel.decode`."""
        view = PaddedView(target_input.layout)
        embedded: Tensor = self.dropout(self.embedding(view.pad(target_input.ids)))
        memory, hidden = encoded
        if self.attention == "additive":
            steps = []
            for position in embedded.unbind(1):
                state, found, hidden = self._move(position.unsqueeze(1), memory, hidden)
                steps.append(torch.cat([state, found], dim=-1))
            joined = torch.cat(steps, dim=1)
        else:
            state, found, _ = self._move(embedded, memory, hidden)
            joined = torch.cat([state, found], dim=-1)
        return self._read_out(view.flatten(joined))

    def first_state(self, encoded: _Encoded) -> BaselineState:
        """See `TranslationModel.first_state`."""
        memory, hidden = encoded
        return BaselineState(memory, [each.transpose(0, 1).unsqueeze(1) for each in hidden])

    def next_states(self, tokens: Tensor, state: BaselineState) -> Tensor:
        """See `TranslationModel.next_states`."""
        sentences, beam = tokens.shape
        embedded: Tensor = self.embedding(tokens)  # [sentences, beam, d_model]
        rows = embedded.flatten(0, 1).unsqueeze(1)
        # `past` has the beams first: [sentences, beam, num_layers, d_model].
        hidden = tuple(each.flatten(0, 1).transpose(0, 1).contiguous() for each in state.past)
        moved, found, hidden = self._move(rows, state.memory.repeated(beam), hidden)
        state.past = [torch.unflatten(each.transpose(0, 1), 0, (sentences, beam)) for each in hidden]
        state.advance()
        return self._read_out(torch.cat([moved, found], dim=-1)).view(sentences, beam, -1)

    def _move(self, embedded: Tensor, memory: SourceMemory, hidden: Hidden) -> tuple[Tensor, Tensor, Hidden]:
        """Read tokens one after another: the states, the attention of each to the source, and the last hidden states.

        `embedded` is `[batch, length, d_model]`, with additive attention of length 1; `hidden` are the states before,
        each `[num_layers, batch, d_model]`.
        """
        if self.attention == "dot":
            states, hidden = self._recur(embedded, hidden)
            scores = torch.matmul(states, memory.keys.transpose(1, 2))
            return states, self._found(scores, memory), hidden
        if self.query is None or self.vector is None:
            found = memory.values.expand(-1, embedded.shape[1], -1)
        else:
            sums = torch.tanh(self.query(hidden[0][-1]).unsqueeze(1) + memory.keys)
            found = self._found(torch.matmul(sums, self.vector).unsqueeze(1), memory)
        states, hidden = self._recur(torch.cat([embedded, found], dim=-1), hidden)
        return states, found, hidden

    def _recur(self, inputs: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        states, last = self.decoder(inputs, hidden if len(hidden) == 2 else hidden[0])
        return states, last if isinstance(last, tuple) else (last,)

    def _found(self, scores: Tensor, memory: SourceMemory) -> Tensor:
        """The source's states weighted by the softmax of scores `[batch, length, source_len]`."""
        weights = torch.softmax(scores.masked_fill(~memory.is_real.unsqueeze(1), -torch.inf), dim=-1)
        return torch.matmul(weights, memory.values)

    def _read_out(self, joined: Tensor) -> Tensor:
        read: Tensor = self.dropout(torch.tanh(self.readout(joined)))
        return read


def _backwards(tokens: Tensor, lengths: Tensor) -> Tensor:
    """The real tokens of each row in the opposite order, pads where they were."""
    places = torch.arange(tokens.shape[1], device=tokens.device)
    reverse = (lengths.unsqueeze(1) - 1 - places).where(places < lengths.unsqueeze(1), places)
    return tokens.gather(1, reverse)
