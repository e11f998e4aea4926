"""The length penalty of beam search."""


def length_penalty(length: int, *, alpha: float) -> float:
    """lp(L) = ((5 + L) / 6)^alpha (Wu et al. 2016, equation 14; the paper's section 6.1 takes alpha = 0.6).

    L is the number of generated tokens, eos included. A larger alpha favours longer outputs; 0 ranks by
    log-probability.
    """
    penalty: float = ((5 + length) / 6) ** alpha
    return penalty
