"""The schema of the group `model`: one dataclass for each kind of model. No field has a default; see `schema`."""

from dataclasses import dataclass
from enum import Enum

from omegaconf import MISSING


class ModelKind(Enum):
    """Which family a model is of."""

    transformer = "transformer"
    recurrent = "recurrent"
    convolutional = "convolutional"


class Attention(Enum):
    """How queries find what they attend to (section 3.2.1)."""

    scaled_dot = "scaled_dot"
    dot = "dot"
    general = "general"
    additive = "additive"
    concat = "concat"
    restricted = "restricted"


class Positions(Enum):
    """How a model knows word order (section 3.5, Table 3 row E)."""

    sinusoidal = "sinusoidal"
    sinusoidal_blocks = "sinusoidal_blocks"
    learned = "learned"
    none = "none"
    concatenated = "concatenated"
    rotary = "rotary"


class Norm(Enum):
    """Where layer normalisation stands: after the residual sum (the paper) or before the sub-layer."""

    post = "post"
    pre = "pre"


class Normalization(Enum):
    """What normalisation divides by: the standard deviation, or the root mean square."""

    layer = "layer"
    rms = "rms"


class Cell(Enum):
    """What a recurrent layer is made of."""

    gru = "gru"
    lstm = "lstm"


class RecurrentAttention(Enum):
    """How a recurrent decoder looks at the source: one vector for all of it, or attention."""

    none = "none"
    additive = "additive"
    dot = "dot"


@dataclass
class ModelConfig:
    """What every kind of model has; each kind adds its own fields."""

    kind: ModelKind = MISSING
    """Which family it is of."""
    d_model: int = MISSING
    """Width of every layer's output."""
    num_layers: int = MISSING
    """N: layers of the encoder, and of the decoder."""
    dropout: float = MISSING
    """P_drop: on each sub-layer's output and on the sums of embeddings and positions (section 5.4)."""
    max_positions: int = MISSING
    """Rows of a table of learned positions, and the longest sentence of other commands; sinusoids grow on demand."""
    vocabulary_rows: int | None = MISSING
    """Rows of the embedding matrix; null: as many as the vocabulary has entries."""


@dataclass
class TransformerConfig(ModelConfig):
    """The Transformer, in the paper's symbols (section 3)."""

    d_ff: int = MISSING
    """Inner width of the position-wise feed-forward layers."""
    num_heads: int = MISSING
    """h: attention heads."""
    d_k: int = MISSING
    """Width of one head's queries and keys."""
    d_v: int = MISSING
    """Width of one head's values."""
    attention: Attention = MISSING
    """How queries find what they attend to; restricted: within a neighbourhood, in self-attention."""
    neighbourhood: int = MISSING
    """r: how many positions restricted self-attention sees, half of them on either side (section 4)."""
    positions: Positions = MISSING
    """Sinusoidal or learned, as in the paper; sinusoids in the code's layout or concatenated; rotary; none."""
    norm: Norm = MISSING
    """Post (the paper) or pre."""
    normalization: Normalization = MISSING
    """Layer normalisation (the paper), or RMSNorm."""
    residual: bool = MISSING
    """Whether a sub-layer's input is added to its output."""
    attention_dropout: float = MISSING
    """Dropout on the attention's weights; the paper names it for its parser alone, without the value (section 6.3)."""
    activation_dropout: float = MISSING
    """Dropout inside the feed-forward layers; the paper has none."""
    tied_embeddings: bool = MISSING
    """Whether source, target and output layer share one matrix (section 3.4)."""
    reads_bos: bool = MISSING
    """Whether the decoder's first input is bos, or a vector of zeros as in the authors' code."""
    projection_bias: bool = MISSING
    """Whether the attention's projections have biases."""
    layer_norm_epsilon: float = MISSING
    """Added to the variance in layer normalisation."""


@dataclass
class RecurrentConfig(ModelConfig):
    """A recurrent encoder-decoder."""

    cell: Cell = MISSING
    """GRU (Cho et al. 2014) or LSTM."""
    attention: RecurrentAttention = MISSING
    """none: a fixed context vector; additive: Bahdanau et al. 2015; dot: Luong et al. 2015."""


@dataclass
class ConvolutionalConfig(ModelConfig):
    """A convolutional encoder-decoder (Gehring et al. 2017)."""

    kernel_size: int = MISSING
    """k: positions that a convolution reads; odd."""


MODEL_TYPES: dict[ModelKind, type[ModelConfig]] = {
    ModelKind.transformer: TransformerConfig,
    ModelKind.recurrent: RecurrentConfig,
    ModelKind.convolutional: ConvolutionalConfig,
}
"""The fields of each kind of model."""
