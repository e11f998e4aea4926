"""The scores of section 3.2.1, for all heads at once: Q K^T / sqrt(d_k) in equation 1; others in `variants.attention`.

Masking, softmax and the sum of values are in `attention.attention`, in fused kernels where `scale` is set, and in
`attention_backends.attend_few` in a search. A new function is a class with one method, `scores`: named as
`model.attention=my_module:MyAttention`, or added to `variants.attention`.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class AttentionFunction(nn.Module, ABC):
    """Scores of keys for queries; the values are weighted by their softmax."""

    scale: float | None = None
    """If set, `scores` must equal scale * f(Q) K^T; `padded_attention` and `flat_attention` then do not call it."""

    def transform(self, query: Tensor) -> Tensor:
        """f(Q), of the same shape `[..., num_heads, queries, d_k]`."""
        return query

    @abstractmethod
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores `[..., num_heads, queries, keys]`.

        `query` is `[..., num_heads, queries, d_k]`, `keys` is `[..., num_heads, keys, d_k]`.
        """


def scores_of(function: AttentionFunction, query: Tensor, keys: Tensor) -> Tensor:
    """`function.scores(query, keys)`, `[..., num_heads, queries, keys]`; TypeError if it is anything else."""
    scores: object = function.scores(query, keys)  # of a user's class it may be anything
    expected = [*query.shape[-3:-1], keys.shape[-2]]
    if isinstance(scores, Tensor) and [*scores.shape[-3:]] == expected:
        return scores
    found = f"a tensor {[*scores.shape]}" if isinstance(scores, Tensor) else type(scores).__name__
    name = f"{type(function).__module__}:{type(function).__qualname__}"
    raise TypeError(f"{name}.scores returned {found} instead of a tensor [..., {', '.join(map(str, expected))}]")


class DotProductAttention(AttentionFunction):
    """s Q K^T: s = 1 / sqrt(d_k) gives equation 1, s = 1 the unscaled product."""

    def __init__(self, *, scale: float) -> None:
        super().__init__()
        self.scale: float = scale

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """See `AttentionFunction`."""
        return torch.matmul(query * self.scale, keys.transpose(-1, -2))
