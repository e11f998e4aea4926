"""The cost of training a model: parameters, operations and memory.

The Transformer of the paper has a closed form, which needs no tensor library. `measured_cost` counts other models.
"""

from dataclasses import dataclass

from aiayn.models.architecture import Architecture

BYTES_OF_STATE = 16
"""Of a parameter in training: itself, its gradient and Adam's two moments, in single precision."""


@dataclass(frozen=True)
class ValueBytes:
    """Bytes of one value that the backward pass keeps."""

    product: int
    """Output or input of a matrix product."""
    residual: int
    """On the residual path: the input of layer normalisation."""


SINGLE = ValueBytes(product=4, residual=4)
HALF = ValueBytes(product=2, residual=4)
"""Half precision, under which layer normalisation and the loss stay in single."""


@dataclass(frozen=True)
class Kept:
    """Values of one token that the forward pass keeps for the backward pass."""

    products: int = 0
    residuals: int = 0
    masks: int = 0
    """One byte each."""

    def bytes(self, of: ValueBytes) -> int:
        """Their memory."""
        return self.products * of.product + self.residuals * of.residual + self.masks


@dataclass(frozen=True)
class ModelCost:
    """The cost of training one model, by source and target tokens."""

    parameters: int
    """A tied matrix counts once."""
    source_weights: int
    """Weights of the matrices applied to each source token."""
    target_weights: int
    """Likewise of a target token, the output layer included."""
    source_kept: Kept
    target_kept: Kept
    d_model: int
    vocabulary_size: int
    """Rows of the output layer."""

    def training_flops(self, *, source_tokens: float, target_tokens: float) -> float:
        """Floating-point operations of forward and backward passes: 6 for each weight and token.

        Attention's own products, normalisation and softmax are not counted; for sentences far shorter than d_model they
        are a few per cent, with additive attention more. Keys and values of cross-attention count for source tokens.
        """
        return 6.0 * (self.source_weights * source_tokens + self.target_weights * target_tokens)

    def training_bytes(self, *, source_tokens: int, target_tokens: int, of: ValueBytes) -> int:
        """Memory of the tensors at the peak of a step, when the backward pass begins; tokens of a micro-batch.

        Parameters, their states and gradients, and the values that the forward pass kept. A chunk of logits and the
        allocator's reserve come on top: the base model with 2,048 tokens a side took 2.4 GiB of a CPU's memory, and
        this gives 1.8.
        """
        weights = self.parameters * (BYTES_OF_STATE + (of.product if of.product < 4 else 0))  # cast once a step
        return weights + self.kept_bytes(source_tokens=source_tokens, target_tokens=target_tokens, of=of)

    def kept_bytes(self, *, source_tokens: int, target_tokens: int, of: ValueBytes) -> int:
        """Memory that the forward pass keeps for the backward pass, without parameters."""
        # The loss keeps gradients instead of logits: of the states it read and of the embeddings.
        loss = self.d_model * of.residual * (target_tokens + self.vocabulary_size)
        return self.source_kept.bytes(of) * source_tokens + self.target_kept.bytes(of) * target_tokens + loss


def has_closed_form(shape: Architecture) -> bool:
    """Whether `transformer_cost` covers the architecture; `measured_cost` covers all."""
    return (
        shape.attention in ("scaled_dot", "dot")
        and shape.positions in ("sinusoidal", "sinusoidal_blocks", "learned", "rotary", "none")
        and shape.normalization == "layer"
        and shape.tied_embeddings
    )


def transformer_cost(shape: Architecture, *, vocabulary_size: int) -> ModelCost:
    """The cost of a Transformer for which `has_closed_form` holds; `vocabulary_size` rows of embeddings."""
    assert has_closed_form(shape)
    layers, width = shape.num_layers, shape.d_model
    keys, values = shape.num_heads * shape.d_k, shape.num_heads * shape.d_v
    attention = width * (2 * keys + 2 * values)
    feed_forward = 2 * width * shape.d_ff
    is_dropped = shape.activation_dropout > 0
    # ReLU works in place, and its gradient needs its output; dropout's result is another tensor.
    active = shape.d_ff * (2 if shape.activation == "swish" or is_dropped else 1)
    rotated = (2 * keys + 2 * shape.d_k) * (shape.positions == "rotary")  # queries, keys, and sines and cosines of both
    # Source tokens pass the encoder's matrices, and the keys and values of cross-attention.
    source_weights = layers * (attention + feed_forward + width * (keys + values))
    target_weights = layers * (attention + feed_forward + width * (keys + values))
    norms = 2 * width * (5 * layers + 2 * (shape.norm == "pre"))
    biases = 2 * layers * (shape.d_ff + width) + 3 * layers * (2 * keys + values + width) * shape.projection_bias
    positions = shape.max_positions * width * (shape.positions == "learned")
    vectors = vocabulary_size * shape.output_bias + width * shape.target_space_embedding
    embedding = vocabulary_size * width

    has_mask = shape.dropout > 0
    # Of a sub-layer: the sum that is normalised, the result that the next product reads, and dropout's mask.
    ends = (2 * layers, 3 * layers)
    source_products = width + layers * (2 * width + 2 * keys + 2 * values + active + keys + values + rotated)
    target_products = width + layers * (3 * width + 3 * keys + 3 * values + active + rotated)
    source_kept, target_kept = (
        Kept(products, residuals=count * width, masks=(count + 1) * width * has_mask + layers * shape.d_ff * is_dropped)
        for products, count in zip((source_products, target_products), ends, strict=True)
    )
    return ModelCost(
        parameters=source_weights + target_weights + norms + biases + positions + vectors + embedding,
        source_weights=source_weights,
        target_weights=target_weights + embedding,
        source_kept=source_kept,
        target_kept=target_kept,
        d_model=width,
        vocabulary_size=vocabulary_size,
    )
