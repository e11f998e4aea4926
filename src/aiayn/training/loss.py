"""The label-smoothed loss and, beside it, the likelihood without smoothing."""

from typing import NamedTuple

import torch
from torch import Tensor


class TokenLosses(NamedTuple):
    """Sums over target tokens, in nats; scalars."""

    smoothed: Tensor
    """What training minimises."""
    nll: Tensor
    """Unsmoothed negative log-likelihood, the one that perplexity is made of."""


def token_losses(logits: Tensor, targets: Tensor, *, label_smoothing: float) -> TokenLosses:
    """Cross entropy against (1 - eps) one-hot + eps / V uniform (section 5.4; Szegedy et al. 2015).

    Args:
        logits: `[tokens, vocabulary_size]`, pads already removed.
        targets: int64 `[tokens]`.
        label_smoothing: eps, the mass spread evenly over all V classes, the right one included.
    """
    logits = logits.float()
    normalizer = torch.logsumexp(logits, dim=-1)
    nll = (normalizer - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)).sum()
    if label_smoothing == 0.0:
        return TokenLosses(smoothed=nll, nll=nll.detach())
    uniform = (normalizer - logits.mean(dim=-1)).sum()
    return TokenLosses(smoothed=(1.0 - label_smoothing) * nll + label_smoothing * uniform, nll=nll.detach())
