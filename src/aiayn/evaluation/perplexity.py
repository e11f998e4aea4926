"""Perplexity per token."""

import math

import numpy as np
from numpy.typing import ArrayLike

from aiayn.errors import UserError


def perplexity(nll: ArrayLike, tokens: ArrayLike) -> float:
    """exp(sum of nll / sum of tokens), per word-piece as in Table 3; inf if it exceeds a float.

    The sums are exact, so the order of the sentences does not matter.

    Args:
        nll: [sentences], summed over each sentence's tokens, without label smoothing, in nats.
        tokens: [sentences], target tokens, eos included.

    Raises:
        UserError: no tokens at all.
    """
    losses, counts = np.asarray(nll, dtype=np.float64), np.asarray(tokens)
    assert losses.shape == counts.shape, f"{losses.shape} losses and {counts.shape} counts"
    total = int(counts.sum())
    if total <= 0:
        raise UserError(f"perplexity over {total} tokens: there is nothing to score")
    try:
        return math.exp(math.fsum(losses.tolist()) / total)
    except OverflowError:
        return math.inf
