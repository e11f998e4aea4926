"""The sizes and choices that make one convolutional model."""

from dataclasses import dataclass

from aiayn.errors import UserError


@dataclass(frozen=True)
class ConvolutionalArchitecture:
    """What distinguishes one convolutional model from another, but for its vocabulary.

    Raises:
        UserError: a setting is out of its range.
    """

    d_model: int
    """Width of embeddings and of every layer's output."""
    num_layers: int
    """Blocks of the encoder, and as many of the decoder."""
    kernel_size: int
    """k: positions that a convolution reads; odd, so that the encoder's are centred."""
    dropout: float
    """On embeddings and on what each convolution reads."""
    max_positions: int
    """The longest sentence: positions are learned."""

    def __post_init__(self) -> None:
        for key in ("d_model", "num_layers", "kernel_size", "max_positions"):
            if not getattr(self, key) > 0:
                raise UserError(f"model.{key}={getattr(self, key)}: must be above 0")
        if self.kernel_size % 2 == 0:
            raise UserError(f"model.kernel_size={self.kernel_size}: must be odd, so that each position is at a centre")
        if not 0.0 <= self.dropout < 1.0:
            raise UserError(f"model.dropout={self.dropout}: must be at least 0 and below 1")
