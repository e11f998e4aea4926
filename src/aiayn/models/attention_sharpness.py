"""How sharp attention is: whether large logits have pushed the softmax to where it hardly moves (section 3.2.1)."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from aiayn.models.attention_weights import attention_scores
from aiayn.models.transformer import Transformer


@dataclass(frozen=True)
class Sharpness:
    """Means over queries of one kind of attention, by layer and head."""

    queries: int
    """How many there were: real ones with two or more keys to choose from."""
    variance: Tensor
    """Of a query's logits over the keys that it may see, float64 `[num_layers, num_heads]`.

    A softmax does not heed what is added to all of them, so that their mean is left out.
    """
    entropy: Tensor
    """Of a query's weights as a share of ln(keys), float64 `[num_layers, num_heads]`: 1 is even, 0 one key alone."""

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
    """Of every attention of a model."""

    encoder: Sharpness
    """Source to source."""
    decoder: Sharpness
    """Target to target."""
    cross: Sharpness
    """Target to source."""


def attention_sharpness(model: Transformer, source: Tensor, target_input: Tensor) -> AttentionSharpness:
    """How sharp a model's attention is when it reads a batch.

    Args:
        model: in evaluation mode.
        source: int64 `[batch, source_len]`, pads at the end.
        target_input: int64 `[batch, target_len]`, the target shifted right behind bos, pads at the end.
    """
    scores = attention_scores(model, source, target_input)
    own, other = (side != model.pad_id for side in (source, target_input))
    return AttentionSharpness(*map(sharpness, scores, (own, other, other)))


def sharpness(scores: Tensor, is_real: Tensor) -> Sharpness:
    """Of one kind of attention.

    Args:
        scores: `[num_layers, batch, num_heads, queries, keys]`, -inf where nothing may be seen.
        is_real: bool `[batch, queries]`, False where the query is a pad.
    """
    scores = scores.double()
    is_seen = scores > -torch.inf
    keys = is_seen.sum(dim=-1)  # [num_layers, batch, num_heads, queries]
    counted = is_real[None, :, None] & (keys >= 2)
    enough = keys.clamp(min=2)  # what is not counted shall be a number, too
    mean = scores.where(is_seen, 0.0).sum(dim=-1, keepdim=True) / enough[..., None]
    variance = (scores - mean).where(is_seen, 0.0).square().sum(dim=-1) / enough
    logarithms = torch.log_softmax(scores, dim=-1).where(is_seen, 0.0)
    entropy = -(logarithms.exp() * logarithms).sum(dim=-1) / enough.double().log()
    layers, heads = scores.shape[0], scores.shape[2]
    queries = int(counted.sum()) // (layers * heads)

    def mean_of(values: Tensor) -> Tensor:
        return values.where(counted, 0.0).sum(dim=(1, 3)).cpu() / max(queries, 1)

    return Sharpness(queries, mean_of(variance), mean_of(entropy))
