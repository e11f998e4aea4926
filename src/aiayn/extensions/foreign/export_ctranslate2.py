"""CTranslate2's specification of a Transformer, filled with the weights of ours."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from aiayn.config.model_schema import TransformerConfig
from aiayn.errors import UserError
from aiayn.models.positions import sinusoids
from aiayn.models.variants.positions import sinusoids_in_blocks

NEVER = -1e4
"""Added to the logits of forbidden tokens; half precision can represent it."""

SINUSOID_TABLE = 2
"""Length of an exported table of sinusoids, as a multiple of `model.max_positions`."""

SUPPORTED: Mapping[str, Sequence[object]] = {
    "attention": ("scaled_dot",),
    "positions": ("sinusoidal", "sinusoidal_blocks", "learned", "none"),
    "normalization": ("layer",),
    "residual": (True,),
}
"""Supported values of a model's settings; others are not restricted."""


def table_length(config: TransformerConfig) -> int:
    """The most tokens of a source or an output of the exported model."""
    return config.max_positions * (1 if config.positions == "learned" else SINUSOID_TABLE)


def check_supported(config: TransformerConfig, *, setting: str) -> None:
    """Check that CTranslate2 can represent a model; a UserError names `setting` and the unsupported key."""
    for key, supported in SUPPORTED.items():
        value = getattr(config, key)
        if value not in supported:
            choices = " or ".join(str(each).lower() for each in supported)
            raise UserError(
                f"{setting}: CTranslate2 does not support model.{key}={str(value).lower()}, only {choices}; "
                "take format=safetensors"
            )


def transformer_spec(
    weights: Mapping[str, Tensor],
    config: TransformerConfig,
    *,
    pieces: Sequence[str],
    pad_id: int,
    bos_id: int,
    eos_id: int,
    unk_id: int | None = None,
) -> Any:
    """CTranslate2's `TransformerSpec` of a model that `check_supported` accepts, to be validated, optimised and saved.

    CTranslate2 has one width per head for queries, keys and values, and takes a lone head to be `d_model` wide. So
    heads are padded with zeros to max(d_k, d_v), which changes no product, and the scale 1 / sqrt(d_k) is set
    explicitly; a lone head of another width gets a second head of zeros. Rows of the embedding matrix beyond `pieces`
    are dropped. CTranslate2 has no padding token; in a vocabulary without an unknown token, pad is exported as it.
    """
    from ctranslate2.specs import Activation, TransformerSpec

    is_pre = config.norm == "pre"
    source = _Weights(weights, config)
    spec = TransformerSpec.from_config(
        config.num_layers,
        source.num_heads,
        pre_norm=is_pre,
        activation=Activation.SWISH if config.activation == "swish" else Activation.RELU,
    )
    spec.config.layer_norm_epsilon = config.layer_norm_epsilon
    spec.config.unk_token = pieces[pad_id if unk_id is None else unk_id]
    spec.config.bos_token, spec.config.eos_token = pieces[bos_id], pieces[eos_id]
    starts = {"pad": pad_id, "eos": eos_id}
    spec.config.decoder_start_token = pieces[starts.get(config.decoder_start, bos_id)]
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    positions = _positions(source)
    target = "embedding" if config.tied_embeddings else "untied_target_embedding"
    for name, part, embeddings, of_side in (
        ("encoder", spec.encoder, spec.encoder.embeddings[0], "embedding"),
        ("decoder", spec.decoder, spec.decoder.embeddings, target),
    ):
        embeddings.weight = source.named(f"{of_side}.weight")[: len(pieces)]
        if part is spec.decoder and config.decoder_start == "zeros":
            embeddings.weight[bos_id] = 0.0
        part.position_encodings.encodings = positions
        if part is spec.encoder and config.target_space_embedding:
            part.position_encodings.encodings = positions + source.named("target_space")
        for number, layer in enumerate(part.layer):
            source.fill_layer(layer, f"{name}.{number}")
        if is_pre:
            source.fill_norm(part.layer_norm, f"{name}_norm")
    output = "embedding" if config.tied_embeddings else "untied_output"
    spec.decoder.projection.weight = source.named(f"{output}.weight")[: len(pieces)]
    bias = source.named("output_bias")[: len(pieces)] if config.output_bias else torch.zeros(len(pieces))
    spec.decoder.projection.bias = bias.index_fill_(0, torch.tensor([pad_id, bos_id]), NEVER)
    return spec


def _positions(source: "_Weights") -> Tensor:
    """The table of positions, `[table_length, d_model]`."""
    shape = source.config
    if shape.positions == "learned":
        return source.named("positions.table")
    length = table_length(shape)
    if shape.positions == "none":
        return torch.zeros(length, shape.d_model)
    formula = sinusoids if shape.positions == "sinusoidal" else sinusoids_in_blocks
    return formula(torch.arange(length) + shape.position_offset, shape.d_model)


@dataclass(frozen=True)
class _Weights:
    """A model's weights by parameter name."""

    weights: Mapping[str, Tensor]
    config: TransformerConfig

    @property
    def width(self) -> int:
        """Of the queries, keys and values of an exported head."""
        return max(self.config.d_k, self.config.d_v)

    @property
    def num_heads(self) -> int:
        """Exported heads; see `transformer_spec`."""
        is_lone = self.config.num_heads == 1 and self.width != self.config.d_model
        return 2 if is_lone else self.config.num_heads

    def named(self, name: str) -> Tensor:
        """A float32 copy: CTranslate2's quantisation works in place."""
        return self.weights[name].detach().to("cpu", torch.float32, copy=True)

    def fill_layer(self, layer: Any, name: str) -> None:
        d_k, d_v = self.config.d_k, self.config.d_v
        self.fill_attention(layer.self_attention, f"{name}.self_attention", {"query_key_value": (d_k, d_k, d_v)})
        self.fill_norm(layer.self_attention.layer_norm, f"{name}.self_attention_residual.norm")
        if hasattr(layer, "attention"):
            self.fill_attention(layer.attention, f"{name}.cross_attention", {"query": (d_k,), "key_value": (d_k, d_v)})
            self.fill_norm(layer.attention.layer_norm, f"{name}.cross_attention_residual.norm")
        self.fill_linear(layer.ffn.linear_0, f"{name}.feed_forward.inner")
        self.fill_linear(layer.ffn.linear_1, f"{name}.feed_forward.output")
        self.fill_norm(layer.ffn.layer_norm, f"{name}.feed_forward_residual.norm")

    def fill_attention(self, attention: Any, name: str, projections: Mapping[str, tuple[int, ...]]) -> None:
        """The projections to heads of these widths, the output projection, and the scale of the scores."""
        *inputs, output = attention.linear
        for linear, (projection, widths) in zip(inputs, projections.items(), strict=True):
            self.fill_linear(linear, f"{name}.{projection}")
            linear.weight = self._padded(linear.weight, widths)
            if f"{name}.{projection}.bias" in self.weights:
                linear.bias = self._padded(linear.bias, widths)
        self.fill_linear(output, f"{name}.output")
        output.weight = self._padded(output.weight.T, (self.config.d_v,)).T.contiguous()
        attention.queries_scale = 1.0 / math.sqrt(self.config.d_k)

    def fill_linear(self, linear: Any, name: str) -> None:
        linear.weight = self.named(f"{name}.weight")
        if f"{name}.bias" in self.weights:
            linear.bias = self.named(f"{name}.bias")

    def fill_norm(self, norm: Any, name: str) -> None:
        norm.gamma, norm.beta = self.named(f"{name}.weight"), self.named(f"{name}.bias")

    def _padded(self, rows: Tensor, widths: tuple[int, ...]) -> Tensor:
        """Pad heads with zeros to the exported width and number.

        `rows` are `[num_heads * sum(widths), ...]`: all heads of the first width, then all of the next.
        """
        count, parts = self.config.num_heads, []
        for part in torch.split(rows, [count * each for each in widths]):
            heads = part.reshape(count, -1, *part.shape[1:])  # [num_heads, d, ...]
            rest = (0, 0) * (heads.dim() - 2)
            padding = (*rest, 0, self.width - heads.shape[1], 0, self.num_heads - count)
            parts.append(F.pad(heads, padding).flatten(0, 1))
        return torch.cat(parts)
