"""The sizes and choices that make one Transformer (section 3, Table 3)."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from aiayn.errors import UserError

AttentionName: TypeAlias = Literal["scaled_dot", "dot", "general", "additive", "concat", "restricted"]

PositionsName: TypeAlias = Literal["sinusoidal", "sinusoidal_blocks", "learned", "none", "concatenated", "rotary"]

CHOICES = {
    "attention": get_args(AttentionName),
    "positions": get_args(PositionsName),
    "norm": ("post", "pre"),
    "normalization": ("layer", "rms"),
}
"""What each setting of words may be."""

EVEN_WIDTH = ("sinusoidal", "sinusoidal_blocks", "concatenated")
"""Positions whose coordinates come in pairs, of a sine and a cosine."""


@dataclass(frozen=True)
class Architecture:
    """What distinguishes one Transformer from another, but for its vocabulary.

    Raises:
        UserError: a setting is out of its range.
    """

    d_model: int
    """Width of every layer's output."""
    d_ff: int
    """Inner width of the feed-forward networks."""
    num_layers: int
    """N: layers of the encoder, and as many of the decoder."""
    num_heads: int
    """h: attention heads."""
    d_k: int
    """Width of one head's queries and keys."""
    d_v: int
    """Width of one head's values; free, like d_k."""
    dropout: float
    """P_drop, on every sub-layer's output and on the sums of embeddings and positions (section 5.4)."""
    positions: PositionsName
    """Section 3.5, Table 3's row (E), and others; see `positions`."""
    norm: Literal["post", "pre"]
    """Post (the paper) or pre, see `Residual`."""
    projection_bias: bool
    """Whether the attention's projections have biases; the paper's equations have none."""
    layer_norm_epsilon: float
    """Added to the variance in layer normalisation."""
    max_positions: int
    """The longest sentence with learned positions; sinusoids have no end."""
    # What the paper gives no other value has its value by default.
    attention_dropout: float = 0.0
    """On the attention's weights; the paper names it for its parser alone, without the value (section 6.3)."""
    activation_dropout: float = 0.0
    """Inside the feed-forward networks; the paper has none."""
    attention: AttentionName = "scaled_dot"
    """How queries find what they attend to, see `attention_functions`; restricted holds for self-attention alone."""
    neighbourhood: int = 32
    """r: how many positions restricted self-attention sees."""
    normalization: Literal["layer", "rms"] = "layer"
    """Layer normalisation, or by the root mean square alone (Zhang and Sennrich 2019)."""
    residual: bool = True
    """Whether a sub-layer's input is added to its output."""
    tied_embeddings: bool = True
    """Whether source, target and output layer share a matrix (section 3.4)."""
    reads_bos: bool = True
    """Whether the decoder's first input is bos; otherwise it is a vector of zeros, as in the authors' code."""

    def __post_init__(self) -> None:
        positive = ("d_model", "d_ff", "num_layers", "num_heads", "d_k", "d_v", "layer_norm_epsilon", "max_positions")
        for key in positive:
            if not getattr(self, key) > 0:
                raise UserError(f"model.{key}={getattr(self, key)}: must be above 0")
        for key in ("dropout", "attention_dropout", "activation_dropout"):
            if not 0.0 <= getattr(self, key) < 1.0:
                raise UserError(f"model.{key}={getattr(self, key)}: must be at least 0 and below 1")
        for key, allowed in CHOICES.items():
            if getattr(self, key) not in allowed:
                raise UserError(f"model.{key}={getattr(self, key)}: must be {' or '.join(allowed)}")
        if self.neighbourhood < 2:
            raise UserError(f"model.neighbourhood={self.neighbourhood}: must be at least 2, one position on each side")
        if self.d_model % 2 and self.positions in EVEN_WIDTH:
            raise UserError(f"model.d_model={self.d_model}: must be even with model.positions={self.positions}")
        if self.d_k % 2 and self.positions == "rotary":
            raise UserError(f"model.d_k={self.d_k}: must be even with model.positions=rotary, which turns pairs")

    @property
    def reach(self) -> int | None:
        """How far away a position can be that self-attention sees; None: any distance."""
        return self.neighbourhood // 2 if self.attention == "restricted" else None
