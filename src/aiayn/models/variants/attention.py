"""Attention functions beside dot products, and the choice of `model.attention`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from aiayn.models.attention import AttentionFunction, DotProduct, scaled_dot_product
from aiayn.system.plugins import create


class GeneralAttention(DotProduct):
    """Q W K^T with a matrix W for each head (Luong et al. 2015, "general")."""

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__(scale=1.0)
        self.general_weight = _matrices(num_heads, d_k, d_k)

    def transform(self, query: Tensor) -> Tensor:
        """Q W, of the same shape as Q."""
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
            return scaled_dot_product(num_heads=num_heads, d_k=d_k)
        case "dot":
            return DotProduct(scale=1.0)
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
