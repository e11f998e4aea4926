"""The arguments of these models, filled by name from the configuration."""

from dataclasses import dataclass

from aiayn.models.architecture import AnyArchitecture


@dataclass(frozen=True)
class RecurrentArchitecture(AnyArchitecture):
    """Arguments of a recurrent encoder-decoder."""

    d_model: int
    num_layers: int
    cell: str
    attention: str
    dropout: float


@dataclass(frozen=True)
class ConvolutionalArchitecture(AnyArchitecture):
    """Arguments of a convolutional encoder-decoder."""

    d_model: int
    num_layers: int
    kernel_size: int
    dropout: float
    max_positions: int
