"""The settings of the recurrent and of the convolutional model."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from omegaconf import MISSING

from aiayn.config.model_schema import ModelConfig
from aiayn.config.values import Range
from aiayn.errors import UserError


class Cell(StrEnum):
    """The cell of a recurrent layer."""

    gru = "gru"
    lstm = "lstm"


class RecurrentAttention(StrEnum):
    """The attention of a recurrent decoder to the source; none: a fixed context vector."""

    none = "none"
    additive = "additive"
    dot = "dot"


@dataclass
class RecurrentConfig(ModelConfig):
    """A recurrent encoder-decoder."""

    cell: Cell = MISSING
    """GRU (Cho et al. 2014) or LSTM."""
    attention: RecurrentAttention = MISSING
    """none: a fixed context vector; additive: Bahdanau et al. 2015; dot: Luong et al. 2015."""

    def check_sizes(self) -> None:
        """Refuse a width that the two directions of an encoder cannot share."""
        if self.d_model % 2:
            raise UserError(f"model.d_model={self.d_model}: must be even: an encoder reads in both directions")


@dataclass
class ConvolutionalConfig(ModelConfig):
    """A convolutional encoder-decoder (Gehring et al. 2017)."""

    kernel_size: Annotated[int, Range(1, 1001)] = MISSING
    """k: width of a convolution in positions; odd."""

    def check_sizes(self) -> None:
        """Refuse a convolution without a centre."""
        if self.kernel_size % 2 == 0:
            raise UserError(f"model.kernel_size={self.kernel_size}: must be odd, so that each position is at a centre")

    @property
    def has_learned_positions(self) -> bool:
        """Always."""
        return True
