"""Perplexity per token."""

import math

import numpy as np
from numpy.typing import ArrayLike

from aiayn.errors import UserError


def perplexity(nll: ArrayLike, tokens: ArrayLike) -> float:
    """exp(sum of nll / sum of tokens): per word-piece, as the paper's Table 3 gives it.

    The sums are exact, so neither the order of the sentences nor the number of processes that scored them matters.

    Args:
        nll: [sentences], each sentence's summed negative log-likelihood without label smoothing, in nats.
        tokens: [sentences], the target tokens of each, eos included.

    Returns:
        At least 1 for likelihoods; inf where it exceeds what a float holds.

    Raises:
        UserError: unequal lengths, or no tokens at all.
    """
    losses, counts = np.asarray(nll, dtype=np.float64), np.asarray(tokens)
    if losses.shape != counts.shape:
        raise UserError(
            f"perplexity of {losses.size} losses over {counts.size} token counts: give one of each a sentence"
        )
    total = int(counts.sum())
    if total <= 0:
        raise UserError(f"perplexity over {total} tokens: there is nothing to score")
    try:
        return math.exp(math.fsum(losses.tolist()) / total)
    except OverflowError:
        return math.inf
