"""The sizes and choices that make one recurrent model."""

from dataclasses import dataclass
from typing import Literal

from aiayn.errors import UserError


@dataclass(frozen=True)
class RecurrentArchitecture:
    """What distinguishes one recurrent model from another, but for its vocabulary.

    Raises:
        UserError: a setting is out of its range.
    """

    d_model: int
    """Width of embeddings and hidden states."""
    num_layers: int
    """Layers of the encoder, and as many of the decoder."""
    cell: Literal["gru", "lstm"]
    """Cho et al. 2014, or Hochreiter and Schmidhuber 1997."""
    attention: Literal["none", "additive", "dot"]
    """none: one vector stands for the source. additive: Bahdanau et al. 2015. dot: Luong et al. 2015."""
    dropout: float
    """On embeddings, between layers, and on what the output layer reads."""

    def __post_init__(self) -> None:
        for key in ("d_model", "num_layers"):
            if not getattr(self, key) > 0:
                raise UserError(f"model.{key}={getattr(self, key)}: must be above 0")
        if self.d_model % 2:
            raise UserError(f"model.d_model={self.d_model}: must be even: an encoder reads in both directions")
        if not 0.0 <= self.dropout < 1.0:
            raise UserError(f"model.dropout={self.dropout}: must be at least 0 and below 1")

    @property
    def is_attentive(self) -> bool:
        """Whether the decoder attends to the source."""
        return self.attention != "none"
