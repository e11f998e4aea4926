"""The length penalty of beam search."""


def length_penalty(length: int, *, alpha: float) -> float:
    """lp(L) = ((5 + L) / 6)^alpha (Wu et al. 2016, equation 14; the paper's section 6.1 takes alpha = 0.6).

    Args:
        length: L, the number of generated tokens, eos included.
        alpha: 0 ranks by log-probability; the larger, the more long outputs are favoured.
    """
    penalty: float = ((5 + length) / 6) ** alpha
    return penalty
