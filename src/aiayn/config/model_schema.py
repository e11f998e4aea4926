"""The schema of the group `model`, one dataclass for each kind of model: names, types, choices and ranges."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from omegaconf import MISSING

from aiayn.config.values import LARGEST, Entries, Name, NameOrClass, Positive, Range, Share, Size, text, true_or_false
from aiayn.errors import UserError
from aiayn.registry import added_models
from aiayn.system.plugins import is_plugin


class Attention(StrEnum):
    """The compatibility function of queries and keys (section 3.2.1)."""

    scaled_dot = "scaled_dot"
    dot = "dot"
    general = "general"
    additive = "additive"
    concat = "concat"
    restricted = "restricted"


class Positions(StrEnum):
    """How positions are encoded (section 3.5, Table 3 row E)."""

    sinusoidal = "sinusoidal"
    sinusoidal_blocks = "sinusoidal_blocks"
    learned = "learned"
    none = "none"
    concatenated = "concatenated"
    rotary = "rotary"


IN_PAIRS = (Positions.sinusoidal, Positions.sinusoidal_blocks, Positions.concatenated)
"""Positions with a sine and a cosine in each pair of coordinates."""


class Norm(StrEnum):
    """Layer normalisation after the residual sum (the paper) or before the sub-layer."""

    post = "post"
    pre = "pre"


class Normalization(StrEnum):
    """Normalise by the standard deviation, or by the root mean square."""

    layer = "layer"
    rms = "rms"


class DecoderStart(StrEnum):
    """The decoder's first input: the embedding of one of these tokens, or a vector of zeros."""

    bos = "bos"
    eos = "eos"
    pad = "pad"
    zeros = "zeros"


class Activation(StrEnum):
    """The activation of a feed-forward layer: max(0, x), or x sigmoid(x)."""

    relu = "relu"
    swish = "swish"


KINDS = ("transformer", *added_models(), "plugin")
"""The families of models: the paper's, those of the extensions, and the user's own."""

HeadWidth = Annotated[int, Range(0, 2**20)]
"""0, from `${head_width:...}`, if the heads do not divide the width: `validation` refuses it and names the heads."""


@dataclass
class ModelConfig:
    """The fields of every kind of model."""

    kind: Annotated[str, Name(KINDS)] = text()
    """The family of the model."""
    d_model: Size = MISSING
    """Width of every layer's output."""
    num_layers: Annotated[int, Range(1, 1000)] = MISSING
    """N: layers of the encoder, and of the decoder."""
    dropout: Share = MISSING
    """P_drop: on each sub-layer's output and on the sums of embeddings and positions (section 5.4)."""
    max_positions: Annotated[int, Range(1, 2**24)] = MISSING
    """Rows of a table of learned positions, and the longest input of translate, parse and score."""
    vocabulary_rows: Entries | None = MISSING
    """Rows of the embedding matrix; null: one for each entry of the vocabulary."""

    def check_sizes(self) -> None:
        """Refuse sizes that do not go together; UserError names one."""

    @property
    def has_learned_positions(self) -> bool:
        """Whether sentences may not be longer than `max_positions`."""
        return False


@dataclass
class TransformerConfig(ModelConfig):
    """The Transformer, in the paper's symbols (section 3)."""

    d_ff: Size = MISSING
    """Inner width of the position-wise feed-forward layers."""
    num_heads: Size = MISSING
    """h: attention heads."""
    d_k: HeadWidth = MISSING
    """Width of one head's queries and keys."""
    d_v: HeadWidth = MISSING
    """Width of one head's values."""
    attention: Annotated[str, NameOrClass(Attention)] = text()
    """Compatibility function of queries and keys; restricted: scaled_dot, within a neighbourhood in self-attention; or
    a class of your own, as my_package.my_module:MyAttention."""
    attention_arguments: dict[str, Any] = MISSING
    """Keyword arguments of a class of your own."""
    neighbourhood: Annotated[int, Range(2, LARGEST)] = MISSING
    """r: positions that restricted self-attention sees, half of them on either side (section 4)."""
    positions: Annotated[str, NameOrClass(Positions)] = text()
    """Sinusoidal or learned, as in the paper; sinusoids in the code's layout or concatenated; rotary; none; or a class
    of your own, as my_package.my_module:MyPositions."""
    positions_arguments: dict[str, Any] = MISSING
    """Keyword arguments of a class of your own."""
    position_offset: Annotated[int, Range(0, 1000)] = MISSING
    """Position of a sentence's first token in sinusoids (fairseq: 2); learned positions do not depend on it."""
    norm: Norm = MISSING
    """Post (the paper) or pre."""
    normalization: Normalization = MISSING
    """Layer normalisation (the paper), or RMSNorm."""
    residual: bool = true_or_false()
    """Whether a sub-layer's input is added to its output."""
    attention_dropout: Share = MISSING
    """Dropout on the attention's weights; the paper names it for its parser alone, without the value (section 6.3)."""
    activation: Activation = MISSING
    """Activation of the feed-forward layers: relu (section 3.3), or swish as in Marian's OPUS models."""
    activation_dropout: Share = MISSING
    """Dropout inside the feed-forward layers; the paper has none."""
    tied_embeddings: bool = true_or_false()
    """Whether source, target and output layer share one matrix (section 3.4)."""
    output_bias: bool = true_or_false()
    """Whether the output layer has a bias, as in Marian."""
    decoder_start: DecoderStart = MISSING
    """The decoder's first input: the embedding of bos, eos (fairseq) or pad (Marian), or zeros (the authors' code)."""
    target_space_embedding: bool = true_or_false()
    """Whether one learned vector is added to all source embeddings, as in the authors' code."""
    projection_bias: bool = true_or_false()
    """Whether the attention's projections have biases."""
    layer_norm_epsilon: Positive = MISSING
    """Added to the variance in layer normalisation."""

    def check_sizes(self) -> None:
        """Refuse heads that do not divide the width, and halves of odd widths."""
        if 0 in (self.d_k, self.d_v):
            raise UserError(
                f"model.num_heads={self.num_heads} does not divide model.d_model={self.d_model}: "
                "choose heads that do, or state model.d_k and model.d_v"
            )
        if self.positions in IN_PAIRS and self.d_model % 2:
            raise UserError(f"model.d_model={self.d_model}: must be even with model.positions={self.positions}")
        if self.positions == Positions.rotary and self.d_k % 2:
            raise UserError(f"model.d_k={self.d_k}: must be even with model.positions=rotary, which rotates pairs")

    @property
    def has_learned_positions(self) -> bool:
        """Whether each position has a row of its own."""
        return self.positions == Positions.learned


@dataclass
class PluginConfig(ModelConfig):
    """A model of your own: a subclass of `aiayn.models.translation_model.TranslationModel`."""

    target: str = text()
    """The class, as my_package.my_module:MyModel."""
    arguments: dict[str, Any] = MISSING
    """Its keyword arguments beside those that every model has and `vocabulary_size`."""


def plugins(model: Mapping[str, Any]) -> dict[str, str]:
    """The classes of the user's own in the group `model`, by key."""
    named = {f"model.{name}": str(model.get(name, "")) for name in ("attention", "positions", "target")}
    return {key: name for key, name in named.items() if is_plugin(name)}
