"""The sizes and choices that make one Transformer (section 3, Table 3)."""

from dataclasses import dataclass
from typing import Literal

from aiayn.config.errors import UserError


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
    positions: Literal["sinusoidal", "learned"]
    """Section 3.5, or Table 3's row (E)."""
    norm: Literal["post", "pre"]
    """Post (the paper) or pre, see `Residual`."""
    projection_bias: bool
    """Whether the attention's projections have biases; the paper's equations have none."""
    layer_norm_epsilon: float
    """Added to the variance in layer normalisation."""
    max_positions: int
    """The longest sentence with learned positions; sinusoids have no end."""

    def __post_init__(self) -> None:
        positive = ("d_model", "d_ff", "num_layers", "num_heads", "d_k", "d_v", "layer_norm_epsilon", "max_positions")
        for key in positive:
            if not getattr(self, key) > 0:
                raise UserError(f"model.{key}={getattr(self, key)}: must be above 0")
        if not 0.0 <= self.dropout < 1.0:
            raise UserError(f"model.dropout={self.dropout}: must be at least 0 and below 1")
        for key, allowed in {"positions": ("sinusoidal", "learned"), "norm": ("post", "pre")}.items():
            if getattr(self, key) not in allowed:
                raise UserError(f"model.{key}={getattr(self, key)}: must be {' or '.join(allowed)}")
