"""What a Transformer costs: its parameters, and the operations and memory of training it.

Everything is counted from the architecture; no model is built and no tensor library is needed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from aiayn.models.architecture import Architecture

BYTES_OF_STATE = 16
"""Of a parameter in training: itself, its gradient and Adam's two moments, in single precision."""


@dataclass(frozen=True)
class ValueBytes:
    """How many bytes the backward pass keeps of one value."""

    product: int
    """Put out by a matrix product, or read by one."""
    residual: int
    """On the residual path: what layer normalisation reads."""


SINGLE = ValueBytes(product=4, residual=4)
HALF = ValueBytes(product=2, residual=4)
"""Half precision, under which layer normalisation and the loss stay in single."""


class ModelCost(Protocol):
    """The costs of one model; whatever its kind; see `Cost` for what each is."""

    def __hash__(self) -> int:
        """Models that differ in nothing are one."""
        ...

    @property
    def architecture(self) -> Any:
        """Sizes and choices."""
        ...

    @property
    def vocabulary_size(self) -> int:
        """Rows of the embedding matrix."""
        ...

    @property
    def parameters(self) -> int:
        """Numbers to learn, a tied matrix once."""
        ...

    def training_flops(self, *, source_tokens: float, target_tokens: float) -> float:
        """Operations of forward and backward passes: 6 for each weight of a matrix and token it meets."""
        ...

    def training_bytes(self, *, source_tokens: int, target_tokens: int, of: ValueBytes) -> int:
        """Memory of the tensors at the peak of a step."""
        ...


@dataclass(frozen=True)
class Cost:
    """The costs of one model."""

    architecture: Architecture
    vocabulary_size: int
    """Rows of the embedding matrix."""

    @cached_property
    def parameters(self) -> int:
        """Numbers to learn, the tied matrix once."""
        shape = self.architecture
        layers, width = shape.num_layers, shape.d_model
        per_norm = width * (2 if shape.normalization == "layer" else 1)
        norms = per_norm * (5 * layers + 2 * (shape.norm == "pre"))
        feed_forward_biases = 2 * layers * (shape.d_ff + width)
        projection_biases = 3 * layers * (self._heads(queries=1, keys=1, values=1) + width) * shape.projection_bias
        positions = shape.max_positions * width * (shape.positions == "learned")
        embedding = self.vocabulary_size * width * (1 if shape.tied_embeddings else 3)
        matrices = self._source_weights + self._target_weights + self._joining
        functions = 3 * layers * self._of_attention_function
        return matrices + embedding + norms + feed_forward_biases + projection_biases + positions + functions

    def training_flops(self, *, source_tokens: float, target_tokens: float) -> float:
        """Floating-point operations of forward and backward passes: 6 for each weight of a matrix and token it meets.

        Attention's own products and sums, normalisation and softmax are not counted; for sentences far shorter than
        d_model they are a few per cent, with additive attention more.

        Args:
            source_tokens: tokens through the encoder and the keys and values of cross-attention.
            target_tokens: tokens through the rest of the decoder and the output layer.
        """
        target_weights = self._target_weights + self.vocabulary_size * self.architecture.d_model
        joined = self._joining * (source_tokens + target_tokens)
        return 6.0 * (self._source_weights * source_tokens + target_weights * target_tokens + joined)

    def training_bytes(self, *, source_tokens: int, target_tokens: int, of: ValueBytes) -> int:
        """Memory of the tensors at the peak of a step, which is where the backward pass begins.

        States of the parameters (gradients too: of earlier micro-batches) and what the forward pass kept are there
        together. Some logits, which are made and used up part by part, and the allocator's reserve come on top: the
        base model with 2,048 tokens a side was seen to take 2.4 GiB of a CPU's memory, where this says 1.8.

        Args:
            source_tokens: of one micro-batch, with pads.
            target_tokens: likewise.
            of: bytes of one value.
        """
        kept = self.kept_bytes(source_tokens=source_tokens, target_tokens=target_tokens, of=of)
        weights = self.parameters * (BYTES_OF_STATE + (of.product if of.product < 4 else 0))  # cast once for a step
        return weights + kept

    def kept_bytes(self, *, source_tokens: int, target_tokens: int, of: ValueBytes) -> int:
        """What the forward pass keeps for the backward pass, parameters aside; arguments as for `training_bytes`."""
        shape = self.architecture
        mask = shape.dropout > 0  # a byte for each value that dropout lets pass or not
        # A sub-layer's end: the sum that is normalised, the result that the next product reads, and dropout's mask.
        sub_layer = shape.d_model * (of.residual + of.product + mask)
        embedded = shape.d_model * (of.product + mask)
        attention = of.product * self._heads(queries=1, keys=1, values=2)  # the output is as wide as the values
        crossing = of.product * self._heads(keys=1, values=1)
        inner = of.product * shape.d_ff
        source = embedded + shape.num_layers * (2 * sub_layer + attention + inner + crossing)
        target = embedded + shape.num_layers * (3 * sub_layer + 2 * attention - crossing + inner)
        # The loss keeps gradients instead of logits: of the states it read and of the embeddings.
        loss = shape.d_model * of.residual
        return source * source_tokens + (target + loss) * target_tokens + loss * self.vocabulary_size

    def _heads(self, *, queries: int = 0, keys: int = 0, values: int = 0) -> int:
        """Widths of all heads together."""
        shape = self.architecture
        return shape.num_heads * ((queries + keys) * shape.d_k + values * shape.d_v)

    @property
    def _of_attention_function(self) -> int:
        """Parameters of one attention beside its projections."""
        shape = self.architecture
        square, vector = shape.d_k * shape.d_k, shape.d_k
        of_one_head = {"general": square, "additive": vector, "concat": 2 * square + vector}.get(shape.attention, 0)
        return shape.num_heads * of_one_head

    @property
    def _joining(self) -> int:
        """Weights of the projection that joins embeddings and positions, on either side."""
        shape = self.architecture
        return 2 * shape.d_model**2 if shape.positions == "concatenated" else 0

    @cached_property
    def _source_weights(self) -> int:
        """Of the matrices that source tokens meet: the encoder's, and keys and values of cross-attention."""
        shape = self.architecture
        attention = shape.d_model * self._heads(queries=1, keys=1, values=2)
        crossing = shape.d_model * self._heads(keys=1, values=1)
        return shape.num_layers * (attention + 2 * shape.d_model * shape.d_ff + crossing)

    @cached_property
    def _target_weights(self) -> int:
        """Of the matrices that target tokens meet, the output layer aside."""
        shape = self.architecture
        attention = shape.d_model * self._heads(queries=1, keys=1, values=2)
        crossing = shape.d_model * self._heads(queries=1, values=1)
        return shape.num_layers * (attention + 2 * shape.d_model * shape.d_ff + crossing)
