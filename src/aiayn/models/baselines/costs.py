"""What the rivals of the Transformer cost, as `cost` says it of the Transformer: counted, nothing is built."""

from dataclasses import dataclass
from functools import cached_property

from aiayn.models.architecture import ConvolutionalArchitecture, RecurrentArchitecture
from aiayn.models.cost import BYTES_OF_STATE, ValueBytes

GATES = {"gru": 3, "lstm": 4}
"""Of a cell: as many matrices as wide as its state meet its input, and as many its state."""

KEPT = {"gru": 7, "lstm": 14}
"""Values as wide as the state that torch's kernels keep of a position and layer; seen on a CPU."""


@dataclass(frozen=True)
class RecurrentCost:
    """The costs of a recurrent model."""

    architecture: RecurrentArchitecture
    vocabulary_size: int
    """Rows of the embedding matrix."""

    @cached_property
    def parameters(self) -> int:
        """Numbers to learn, the tied matrix once."""
        shape = self.architecture
        width, layers, gates = shape.d_model, shape.num_layers, GATES[shape.cell]
        # Each gate of each layer has a bias for the input and one for the state; both directions together are as wide.
        biases = 2 * layers * 2 * gates * width + width
        beginning = layers * width * (width + 1) if shape.is_attentive else 0
        vector = width if shape.attention == "additive" else 0
        embedding = self.vocabulary_size * width
        return self._source_weights + self._target_weights + biases + beginning + vector + embedding

    def training_flops(self, *, source_tokens: float, target_tokens: float) -> float:
        """See `ModelCost`; the vector that begins the decoder, once a sentence, is not counted."""
        target_weights = self._target_weights + self.vocabulary_size * self.architecture.d_model
        return 6.0 * (self._source_weights * source_tokens + target_weights * target_tokens)

    def training_bytes(self, *, source_tokens: int, target_tokens: int, of: ValueBytes) -> int:
        """See `ModelCost`; the sums of additive attention, which grow with lengths and not with tokens, come on top."""
        shape = self.architecture
        per_layer = shape.d_model * KEPT[shape.cell] * of.product
        ends = shape.d_model * (4 * of.product + 2 * of.residual)
        tokens = source_tokens + target_tokens
        loss = shape.d_model * of.residual * (target_tokens + self.vocabulary_size)
        return self.parameters * BYTES_OF_STATE + tokens * (shape.num_layers * per_layer + ends) + loss

    @cached_property
    def _source_weights(self) -> int:
        shape = self.architecture
        width, gates = shape.d_model, GATES[shape.cell]
        directions = 2 if shape.is_attentive else 1
        state = width // directions
        keys = width * width if shape.attention == "additive" else 0
        return shape.num_layers * directions * gates * state * (width + state) + keys

    @cached_property
    def _target_weights(self) -> int:
        shape = self.architecture
        width, gates = shape.d_model, GATES[shape.cell]
        read = 2 * width if shape.attention != "dot" else width
        first = gates * width * (read + width)
        others = (shape.num_layers - 1) * gates * width * 2 * width
        queries = width * width if shape.attention == "additive" else 0
        return first + others + queries + 2 * width * width


@dataclass(frozen=True)
class ConvolutionalCost:
    """The costs of a convolutional model."""

    architecture: ConvolutionalArchitecture
    vocabulary_size: int
    """Rows of the embedding matrix."""

    @cached_property
    def parameters(self) -> int:
        """Numbers to learn, the tied matrix once."""
        shape = self.architecture
        width, layers = shape.d_model, shape.num_layers
        biases = layers * (2 * width + 2 * width + width) + width
        positions = 2 * shape.max_positions * width
        return self._source_weights + self._target_weights + biases + positions + self.vocabulary_size * width

    def training_flops(self, *, source_tokens: float, target_tokens: float) -> float:
        """See `ModelCost`."""
        target_weights = self._target_weights + self.vocabulary_size * self.architecture.d_model
        return 6.0 * (self._source_weights * source_tokens + target_weights * target_tokens)

    def training_bytes(self, *, source_tokens: int, target_tokens: int, of: ValueBytes) -> int:
        """See `ModelCost`; of each block the windows that its convolution reads and what its gate reads are kept."""
        shape = self.architecture
        block = shape.d_model * ((shape.kernel_size + 2) * of.product + of.residual)
        attending = shape.d_model * (3 * of.product + of.residual)
        source = shape.num_layers * block
        target = shape.num_layers * (block + attending)
        loss = shape.d_model * of.residual * (target_tokens + self.vocabulary_size)
        return self.parameters * BYTES_OF_STATE + source * source_tokens + target * target_tokens + loss

    @cached_property
    def _source_weights(self) -> int:
        shape = self.architecture
        return shape.num_layers * 2 * shape.kernel_size * shape.d_model**2

    @cached_property
    def _target_weights(self) -> int:
        shape = self.architecture
        return shape.num_layers * (2 * shape.kernel_size + 1) * shape.d_model**2 + shape.d_model**2
