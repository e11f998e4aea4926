"""The sharpness of attention: whether large logits push the softmax to where gradients vanish (section 3.2.1)."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from aiayn.flat_tokens import FlatTokens
from aiayn.models.attention_weights import attention_scores
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.transformer import Transformer


@dataclass(frozen=True)
class Sharpness:
    """Means over queries of one kind of attention, by layer and head."""

    queries: int
    """Real ones with two or more keys to choose from."""
    variance: Tensor
    """Of a query's logits over its visible keys, float64 `[num_layers, num_heads]`; a softmax ignores their mean."""
    entropy: Tensor
    """Of a query's weights as a share of ln(keys), float64 `[num_layers, num_heads]`: 1 is uniform, 0 a single key."""

    def __add__(self, other: "Sharpness") -> "Sharpness":
        """Of the queries of both."""
        total = self.queries + other.queries
        own = self.queries / total if total else 0.0
        return Sharpness(
            total,
            own * self.variance + (1 - own) * other.variance,
            own * self.entropy + (1 - own) * other.entropy,
        )


class AttentionSharpness(NamedTuple):
    """Of each kind of attention of a model."""

    encoder: Sharpness
    decoder: Sharpness
    cross: Sharpness


def attention_sharpness(model: Transformer, source: FlatTokens, target_input: FlatTokens) -> AttentionSharpness:
    """The sharpness of a model's attention on a batch; arguments as for `attention_scores`."""
    scores = attention_scores(model, source, target_input)
    own, other = (PaddedView(side.layout).is_token for side in (source, target_input))
    return AttentionSharpness(*map(sharpness, scores, (own, other, other)))


def sharpness(scores: Tensor, is_real: Tensor) -> Sharpness:
    """Of one kind of attention.

    Args:
        scores: `[num_layers, batch, num_heads, queries, keys]`, -inf at hidden keys.
        is_real: bool `[batch, queries]`, False at pads.
    """
    scores = scores.double()
    is_seen = scores > -torch.inf
    keys = is_seen.sum(dim=-1)  # [num_layers, batch, num_heads, queries]
    counted = is_real[None, :, None] & (keys >= 2)
    enough = keys.clamp(min=2)  # avoids a division by zero where a query is not counted
    mean = scores.where(is_seen, 0.0).sum(dim=-1, keepdim=True) / enough[..., None]
    variance = (scores - mean).where(is_seen, 0.0).square().sum(dim=-1) / enough
    logarithms = torch.log_softmax(scores, dim=-1).where(is_seen, 0.0)
    entropy = -(logarithms.exp() * logarithms).sum(dim=-1) / enough.double().log()
    layers, heads = scores.shape[0], scores.shape[2]
    queries = int(counted.sum()) // (layers * heads)

    def mean_of(values: Tensor) -> Tensor:
        return values.where(counted, 0.0).sum(dim=(1, 3)).cpu() / max(queries, 1)

    return Sharpness(queries, mean_of(variance), mean_of(entropy))
