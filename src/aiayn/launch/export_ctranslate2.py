"""A Transformer as CTranslate2 holds it: their specification, filled with our weights."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from aiayn.models.architecture import Architecture
from aiayn.models.positions import sinusoids

NEVER = -1e4
"""Added to the logits of what no output may hold; the largest that half precision holds in full."""

SINUSOIDS = 2
"""Sinusoids have no end, but a table has: this many times `model.max_positions`."""


@dataclass(frozen=True)
class SpecialTokens:
    """Special tokens by id."""

    pad_id: int
    bos_id: int
    eos_id: int


def table_length(architecture: Architecture) -> int:
    """How many tokens a source or an output of the exported model may have."""
    return architecture.max_positions * (SINUSOIDS if architecture.positions == "sinusoidal" else 1)


def transformer_spec(
    weights: Mapping[str, Tensor], architecture: Architecture, *, pieces: Sequence[str], special: SpecialTokens
) -> Any:
    """CTranslate2's `TransformerSpec` of a model, to be validated, optimised and saved.

    They know no `d_k` and `d_v`: each head has the width that the projections leave it, one for queries, keys and
    values. Heads are padded with zeros to the wider of both, which adds nothing to any product, and the scale
    1 / sqrt(d_k) is stated. So every architecture of ours can be held.

    Args:
        weights: the model's `state_dict`.
        architecture: of the model.
        pieces: the vocabulary; rows of the matrix beyond it stand for no text and are left out.
        special: of the vocabulary. They know no token for pads, and ours is what they call unknown, which no text is.
    """
    from ctranslate2.specs import TransformerSpec

    is_pre = architecture.norm == "pre"
    spec = TransformerSpec.from_config(architecture.num_layers, architecture.num_heads, pre_norm=is_pre)
    spec.config.layer_norm_epsilon = architecture.layer_norm_epsilon
    spec.config.unk_token = pieces[special.pad_id]
    spec.config.bos_token = spec.config.decoder_start_token = pieces[special.bos_id]
    spec.config.eos_token = pieces[special.eos_id]
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    source = _Weights(weights, architecture)
    embedding = source.named("embedding.weight")[: len(pieces)]
    if architecture.positions == "sinusoidal":
        positions = sinusoids(0, table_length(architecture), architecture.d_model)
    else:
        positions = source.named("positions.table")
    for name, part, embeddings in (
        ("encoder", spec.encoder, spec.encoder.embeddings[0]),
        ("decoder", spec.decoder, spec.decoder.embeddings),
    ):
        embeddings.weight = embedding
        part.position_encodings.encodings = positions
        for number, layer in enumerate(part.layer):
            source.fill_layer(layer, f"{name}.{number}")
        if is_pre:
            source.fill_norm(part.layer_norm, f"{name}_norm")
    spec.decoder.projection.weight = embedding
    spec.decoder.projection.bias = torch.zeros(len(pieces)).index_fill_(
        0, torch.tensor([special.pad_id, special.bos_id]), NEVER
    )
    return spec


@dataclass(frozen=True)
class _Weights:
    """The weights of a model by the names that its checkpoints have."""

    weights: Mapping[str, Tensor]
    architecture: Architecture

    def named(self, name: str) -> Tensor:
        """A copy in float32: their quantisation writes into what it is given."""
        return self.weights[name].detach().to("cpu", torch.float32, copy=True)

    def fill_layer(self, layer: Any, name: str) -> None:
        """A layer of the encoder or the decoder."""
        self.fill_self_attention(layer.self_attention, f"{name}.self_attention")
        self.fill_norm(layer.self_attention.layer_norm, f"{name}.around_self_attention.norm")
        if hasattr(layer, "attention"):
            self.fill_cross_attention(layer.attention, f"{name}.cross_attention")
            self.fill_norm(layer.attention.layer_norm, f"{name}.around_cross_attention.norm")
        self.fill_linear(layer.ffn.linear_0, f"{name}.feed_forward.inner")
        self.fill_linear(layer.ffn.linear_1, f"{name}.feed_forward.output")
        self.fill_norm(layer.ffn.layer_norm, f"{name}.around_feed_forward.norm")

    def fill_self_attention(self, attention: Any, name: str) -> None:
        """One product for queries, keys and values, as ours; then the output's."""
        d_k, d_v = self.architecture.d_k, self.architecture.d_v
        self._fill_heads(attention.linear[0], f"{name}.query_key_value", (d_k, d_k, d_v))
        self._fill_output(attention, f"{name}.output")

    def fill_cross_attention(self, attention: Any, name: str) -> None:
        """One product for queries, one for keys and values, as ours; then the output's."""
        d_k, d_v = self.architecture.d_k, self.architecture.d_v
        self._fill_heads(attention.linear[0], f"{name}.query", (d_k,))
        self._fill_heads(attention.linear[1], f"{name}.key_value", (d_k, d_v))
        self._fill_output(attention, f"{name}.output")

    def fill_linear(self, linear: Any, name: str) -> None:
        """A projection, with its bias if it has one."""
        linear.weight = self.named(f"{name}.weight")
        if f"{name}.bias" in self.weights:
            linear.bias = self.named(f"{name}.bias")

    def fill_norm(self, norm: Any, name: str) -> None:
        """A layer normalisation."""
        norm.gamma, norm.beta = self.named(f"{name}.weight"), self.named(f"{name}.bias")

    @property
    def _head_width(self) -> int:
        return max(self.architecture.d_k, self.architecture.d_v)

    def _fill_heads(self, linear: Any, name: str, widths: tuple[int, ...]) -> None:
        """A projection to heads, those of several widths one after another, each padded to the common width."""
        self.fill_linear(linear, name)
        heads = self.architecture.num_heads
        linear.weight = _padded(linear.weight, heads, widths, self._head_width)
        if f"{name}.bias" in self.weights:
            linear.bias = _padded(linear.bias, heads, widths, self._head_width)

    def _fill_output(self, attention: Any, name: str) -> None:
        """The projection of the heads' outputs, and the scale of their scores."""
        output = attention.linear[-1]
        self.fill_linear(output, name)
        padded = _padded(output.weight.T, self.architecture.num_heads, (self.architecture.d_v,), self._head_width)
        output.weight = padded.T.contiguous()
        attention.queries_scale = 1.0 / math.sqrt(self.architecture.d_k)


def _padded(rows: Tensor, num_heads: int, widths: tuple[int, ...], width: int) -> Tensor:
    """Give every head `width` rows, zeros at its end.

    Args:
        rows: `[num_heads * sum(widths), ...]`, all heads of the first width, then all of the next.
        num_heads: of each width.
        widths: of a head before.
        width: of a head after.
    """
    parts = []
    for part in torch.split(rows, [num_heads * each for each in widths]):
        heads = part.unflatten(0, (num_heads, -1))  # [num_heads, d, ...]
        missing = width - heads.shape[1]
        parts.append(F.pad(heads, (*(0, 0) * (heads.dim() - 2), 0, missing)).flatten(0, 1))
    return torch.cat(parts)
