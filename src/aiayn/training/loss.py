"""The label-smoothed loss, and the negative log-likelihood without smoothing."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from aiayn.models.kernels.matmul import add_product, linear

CHUNK_ENTRIES = {"cpu": 2**24, "elsewhere": 2**27}
"""Most logits at a time. On CPUs 64 MiB, since smaller products are slower; elsewhere each chunk costs kernel launches
and a pass over the weight's gradient."""

CACHED_ENTRIES = 2**20
"""Logits normalised at a time on CPUs, to stay in the cache."""


class TokenLosses(NamedTuple):
    """Sums over target tokens, in nats; scalars."""

    smoothed: Tensor
    """Minimised by training."""
    nll: Tensor
    """Unsmoothed negative log-likelihood, from which perplexity is computed."""


def output_losses(
    states: Tensor,
    weight: Tensor,
    targets: Tensor,
    *,
    label_smoothing: float,
    bias: Tensor | None = None,
    is_compiled: bool = False,
) -> TokenLosses:
    """Cross entropy of the output layer against (1 - eps) one-hot + eps / V uniform (section 5.4; Szegedy et al. 2015).

    Output layer and loss are fused: logits and gradients are computed in the forward pass, in chunks, so that
    `[positions, vocabulary_size]` is never in memory. `states` are `[positions, d_model]`, the decoder's; `weight` is
    `[vocabulary_size, d_model]`, the output layer's, and `bias` `[vocabulary_size]` its bias if it has one; `targets`
    are int64 `[positions]`. `label_smoothing` is eps, spread evenly over all V classes, the target included. Negative
    targets do not count. `is_compiled` fuses the passes over the logits by torch.compile.
    """
    smoothed, nll = _OutputLosses.apply(  # type: ignore[no-untyped-call]
        states, weight, bias, targets, label_smoothing, torch.is_grad_enabled(), is_compiled
    )
    return TokenLosses(smoothed, nll)


@torch.no_grad()
def token_likelihoods(states: Tensor, weight: Tensor, targets: Tensor, *, bias: Tensor | None = None) -> Tensor:
    """Negative log-likelihood of each target in nats, float32 `[positions]`, as in `output_losses`; all count."""
    parts = []
    for rows in _chunks(targets, vocabulary_size=len(weight)):
        log_probabilities = F.log_softmax(linear(states[rows], weight, bias), dim=-1, dtype=torch.float32)
        parts.append(-log_probabilities.gather(1, targets[rows].unsqueeze(1)).squeeze(1))
    return torch.cat(parts) if parts else states.new_zeros(0, dtype=torch.float32)


class _OutputLosses(torch.autograd.Function):
    """Sums of both losses; the gradients of the first are computed in the forward pass."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        label_smoothing: float,
        is_differentiated: bool,
        is_compiled: bool,
    ) -> tuple[Tensor, Tensor]:
        device = states.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
        exact = torch.promote_types(dtype, torch.float32)
        smoothed, nll = states.new_zeros(2, dtype=exact)
        if is_differentiated:
            states_gradient, weight_gradient = torch.empty_like(states), torch.zeros_like(weight)
            bias_gradient = None if bias is None else torch.zeros_like(bias)
        mean_weight = weight.mean(dim=0)  # its product with a state is the mean of the logits without the bias
        mean_bias = 0.0 if bias is None else bias.mean()
        matrix, vector = weight.to(dtype), None if bias is None else bias.to(dtype)
        with torch.autocast(device, enabled=False):
            for rows in _chunks(targets, vocabulary_size=len(weight)):
                part, chosen = states[rows], targets[rows].unsqueeze(1)
                weighs = (chosen >= 0).to(exact)
                chosen = chosen.clamp(min=0)
                logits = linear(part.to(dtype), matrix, vector)
                at_target = logits.gather(1, chosen)
                surprise = _to_probabilities(logits, chosen, exact, is_compiled=is_compiled)
                mean_logit = (part.to(mean_weight.dtype) @ mean_weight + mean_bias).unsqueeze(1)
                uniform = at_target + surprise - mean_logit  # the mean of -log p over all classes
                nll += (surprise * weighs).sum()
                smoothed += ((1.0 - label_smoothing) * surprise + label_smoothing * uniform).mul(weighs).sum()
                if not is_differentiated:
                    continue
                # The target's share is subtracted from the logits, the uniform share of all classes from the products.
                gradient = logits.scatter_add_(1, chosen, at_target.new_full(chosen.shape, label_smoothing - 1.0))
                own = linear(gradient, matrix.t()) - label_smoothing * mean_weight
                states_gradient[rows] = own * weighs
                add_product(weight_gradient, gradient, (part * weighs).to(dtype))
                if bias_gradient is not None:
                    uniform_share = (label_smoothing / len(weight)) * weighs.sum()
                    bias_gradient += (gradient * weighs).sum(dim=0) - uniform_share
            if is_differentiated:
                real = (targets >= 0).to(states.dtype)
                weight_gradient -= (label_smoothing / len(weight)) * (real @ states)
        if is_differentiated:
            ctx.save_for_backward(states_gradient, weight_gradient, bias_gradient)  # type: ignore[arg-type]  # None passes
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        own = [None if each is None else each.mul_(gradient) for each in ctx.saved_tensors]
        # In place, to save memory of the size of the embeddings. A second backward pass would scale twice, but torch
        # refuses it since the first frees the saved tensors.
        return (*own, None, None, None, None)


def _chunks(targets: Tensor, *, vocabulary_size: int) -> Iterator[slice]:
    """Chunks of equal size with at most `CHUNK_ENTRIES` logits; a single position may have more."""
    positions, most = len(targets), CHUNK_ENTRIES["cpu" if targets.device.type == "cpu" else "elsewhere"]
    count = -(-positions * vocabulary_size // most)
    size = -(-positions // max(1, count))
    return (slice(start, start + size) for start in range(0, positions, max(1, size)))


def _to_probabilities(logits: Tensor, chosen: Tensor, exact: torch.dtype, *, is_compiled: bool) -> Tensor:
    """Turn logits `[positions, vocabulary_size]` into probabilities, in place; on CPUs a few rows at a time.

    Returns:
        The negative log-likelihood of `chosen`, int64 `[positions, 1]`, in `exact`.
    """
    rows = max(1, CACHED_ENTRIES // logits.shape[1]) if logits.device.type == "cpu" else len(logits)
    blocks = zip(torch.split(logits, rows), torch.split(chosen, rows), strict=True)
    normalize = _compiled_normalize() if is_compiled else _normalize
    return torch.cat([normalize(block, chosen_there, exact) for block, chosen_there in blocks])


def _normalize(block: Tensor, chosen: Tensor, exact: torch.dtype) -> Tensor:
    """As `_to_probabilities`, by `exp2`: MKL's `exp` is slow."""
    work = block.to(exact)
    work -= work.amax(dim=1, keepdim=True)
    at_target = work.gather(1, chosen)
    total = work.mul_(math.log2(math.e)).exp2_().sum(dim=1, keepdim=True)
    work.div_(total)
    if work.dtype != block.dtype:
        block.copy_(work)
    return total.log() - at_target


@cache
def _compiled_normalize() -> Callable[[Tensor, Tensor, torch.dtype], Tensor]:
    return torch.compile(_normalize, dynamic=True)
