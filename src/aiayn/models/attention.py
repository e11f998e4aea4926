"""Scaled dot-product attention (section 3.2.1): `attention` is equation 1, `allowed_keys` the masks of section 3.2.3.

Scores that are no dot products take `attention` itself. Dot products, and so the paper's models, take a form of it in
`kernels` that is faster and, but for rounding, equal; its mask is `is_causal`, or what `allowed_keys` says:

| form | used for | equal because |
|---|---|---|
| `fused_attention.fused_attention` | dot products | the softmax is summed block by block: no scores are stored |
| `fused_attention.local_attention` | a dot product's neighbourhood | weights of other keys are exactly 0 |
| `flat_attention.flat_attention` | dot products on GPUs, in half precision | pads, whose weights are 0, are left out |
| `decoder_state.attend_few` | a step of a search | a bias of -inf hides a key as a mask does |

`SentenceContext.attend` chooses in training; `PastContext` and `SourceContext` of `decoder_state` attend in a search.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class AttentionFunction(nn.Module, ABC):
    """The scores of keys for queries, for all heads at once: `DotProduct`, or any other in a class of its own.

    A user's class is named as `model.attention=my_module:MyAttention`; `variants.attention` has the named ones.
    """

    @abstractmethod
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores `[..., num_heads, queries, keys]`.

        `query` is `[..., num_heads, queries, d_k]`, `keys` is `[..., num_heads, keys, d_k]`.
        """


class DotProduct(AttentionFunction):
    """scale * f(Q) K^T. In equation 1 the scale is 1 / sqrt(d_k), and f(Q) is Q; a subclass may define another f.

    The forms of `attention` in `kernels` compute the product by themselves, so `scores` cannot be overridden.
    """

    def __init__(self, *, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.scores is not DotProduct.scores:
            raise TypeError(f"{cls.__qualname__}.scores: of a DotProduct they follow from scale and transform")

    def transform(self, query: Tensor) -> Tensor:
        """f(Q), of the same shape `[..., num_heads, queries, d_k]`."""
        return query

    @final
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores `[..., num_heads, queries, keys]`; see `AttentionFunction.scores`."""
        return torch.matmul(self.transform(query) * self.scale, keys.transpose(-1, -2))


def scaled_dot_product(*, num_heads: int, d_k: int) -> DotProduct:  # noqa: ARG001
    """Q K^T / sqrt(d_k), the scores of equation 1."""
    return DotProduct(scale=d_k**-0.5)


def attention(
    function: AttentionFunction, query: Tensor, keys: Tensor, values: Tensor, *, allowed: Tensor | None, dropout: float
) -> Tensor:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V (equation 1), or softmax(scores) V with other scores.

    Queries are `[..., queries, d_k]`, keys `[..., keys, d_k]`, values `[..., keys, d_v]`, the result `[..., queries,
    d_v]`. `allowed`, bool `[..., queries, keys]`, is True where a query may attend to a key; None: everywhere.
    `dropout` is the probability that a weight is set to zero.
    """
    scores = checked_scores(function, query, keys)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    return torch.matmul(F.dropout(torch.softmax(scores, dim=-1), dropout), values)


def checked_scores(function: AttentionFunction, query: Tensor, keys: Tensor) -> Tensor:
    """`function.scores(query, keys)`, `[..., num_heads, queries, keys]`; TypeError if it is anything else."""
    scores: object = function.scores(query, keys)  # of a user's class it may be anything
    expected = [*query.shape[-3:-1], keys.shape[-2]]
    if isinstance(scores, Tensor) and [*scores.shape[-3:]] == expected:
        return scores
    found = f"a tensor {[*scores.shape]}" if isinstance(scores, Tensor) else type(scores).__name__
    name = f"{type(function).__module__}:{type(function).__qualname__}"
    raise TypeError(f"{name}.scores returned {found} instead of a tensor [..., {', '.join(map(str, expected))}]")


def allowed_keys(
    queries: int,
    keys: int,
    is_token: Tensor | None,
    *,
    is_causal: bool,
    reach: int | None = None,
    device: torch.device,
) -> Tensor | None:
    """The mask of `attention` for sentences with `is_token`, bool `[batch, keys]`, False at pads; None: without pads.

    With `is_causal`, a query sees only keys at its own and earlier positions (section 3.2.3); `reach` is the largest
    distance of a key that it sees (section 4), None: any. The result broadcasts to `[batch, num_heads, queries, keys]`;
    None: all may be seen.
    """
    distance = torch.arange(keys, device=device) - torch.arange(queries, device=device)[:, None]
    allowed = None if reach is None else distance.abs() <= reach
    if is_causal:  # hides pads, too, which follow a sentence's tokens
        return distance <= 0 if allowed is None else allowed & (distance <= 0)
    if is_token is None:
        return allowed
    return is_token[:, None, None] if allowed is None else allowed & is_token[:, None, None]


class KeysValues(NamedTuple):
    """Keys `[..., num_heads, d_k]` and values `[..., num_heads, d_v]` of positions that are attended to."""

    keys: Tensor
    values: Tensor


class Context(Protocol):
    """Knows which keys each query may attend to, and computes `attention` to them."""

    @property
    def positions(self) -> Tensor:
        """The queries' positions in their sentences, int64 that broadcast to `[...]`."""
        ...

    def attend(self, function: AttentionFunction, query: Tensor, memory: KeysValues, *, dropout: float) -> Tensor:
        """Equation 1 for queries `[..., num_heads, d_k]`: `[..., num_heads, d_v]`; `dropout` is on the weights.

        The context defines the layout of `memory`; that of a search stores new keys and values, too.
        """
        ...
