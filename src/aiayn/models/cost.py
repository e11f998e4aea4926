"""The cost of training a model: parameters, operations and memory."""

from dataclasses import dataclass

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
