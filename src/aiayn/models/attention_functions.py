"""The scores of section 3.2.1, for all heads at once: Q K^T / sqrt(d_k) in equation 1, and others.

Masking, softmax and the sum of values are in `attention.attention`, in fused kernels where `scale` is set, and in
`attention_backends.attend_few` in a search. A new function is a class with one method, `scores`: named as
`model.attention=my_module:MyAttention`, or added here.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from aiayn.system.plugins import create


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


class DotProductAttention(AttentionFunction):
    """s Q K^T: s = 1 / sqrt(d_k) gives equation 1, s = 1 the unscaled product."""

    def __init__(self, *, scale: float) -> None:
        super().__init__()
        self.scale: float = scale

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """See `AttentionFunction`."""
        return torch.matmul(query * self.scale, keys.transpose(-1, -2))


class GeneralAttention(AttentionFunction):
    """Q W K^T with a matrix W for each head (Luong et al. 2015, "general")."""

    scale = 1.0

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()
        self.general_weight = _matrices(num_heads, d_k, d_k)

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """See `AttentionFunction`."""
        return torch.matmul(self.transform(query), keys.transpose(-1, -2))

    def transform(self, query: Tensor) -> Tensor:
        """See `AttentionFunction`."""
        return torch.matmul(query, self.general_weight)


class AdditiveAttention(AttentionFunction):
    """v^T tanh(q + k), a vector v for each head (Bahdanau et al. 2015); W_i^Q and W_i^K serve as its matrices."""

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(nn.init.normal_(torch.empty(num_heads, d_k), std=d_k**-0.5))

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """See `AttentionFunction`."""
        sums = torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3))  # [..., num_heads, queries, keys, d_k]
        return torch.matmul(sums, self.vector[:, None, :, None]).squeeze(-1)


class ConcatAttention(AttentionFunction):
    """v^T tanh(W [q; k]) with a matrix W and a vector v for each head (Luong et al. 2015, "concat")."""

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()
        self.additive = AdditiveAttention(num_heads=num_heads, d_k=d_k)
        self.concat_weight = _matrices(num_heads, 2 * d_k, d_k)

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """See `AttentionFunction`."""
        of_query, of_keys = self.concat_weight.chunk(2, dim=1)
        return self.additive.scores(torch.matmul(query, of_query), torch.matmul(keys, of_keys))


def attention_function(
    name: str, *, num_heads: int, d_k: int, arguments: Mapping[str, Any] | None = None
) -> AttentionFunction:
    """The function of `model.attention`, initialised with torch's generator.

    `arguments` are further keyword arguments of a user's class, which `name` gives as `module:Class`.
    """
    match name:
        case "scaled_dot" | "restricted":
            return DotProductAttention(scale=d_k**-0.5)
        case "dot":
            return DotProductAttention(scale=1.0)
        case "general":
            return GeneralAttention(num_heads=num_heads, d_k=d_k)
        case "additive":
            return AdditiveAttention(num_heads=num_heads, d_k=d_k)
        case "concat":
            return ConcatAttention(num_heads=num_heads, d_k=d_k)
    given = {"num_heads": num_heads, "d_k": d_k}
    return create(name, key="model.attention", base=AttentionFunction, given=given, own=arguments or {})  # type: ignore[type-abstract]


def _matrices(num_heads: int, rows: int, columns: int) -> nn.Parameter:
    """A matrix for each head, `[num_heads, rows, columns]`, Xavier uniform as `initialization.projection`."""
    bound = (6 / (rows + columns)) ** 0.5
    return nn.Parameter(nn.init.uniform_(torch.empty(num_heads, rows, columns), -bound, bound))
