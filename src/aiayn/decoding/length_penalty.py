"""The length penalty of beam search."""

from typing import Literal, TypeAlias

LengthPenalty: TypeAlias = Literal["gnmt", "power"]


def length_penalty(length: int, *, alpha: float, kind: LengthPenalty = "gnmt") -> float:
    """lp(L) = ((5 + L) / 6)^alpha (Wu et al. 2016, equation 14; the paper's section 6.1 takes alpha = 0.6).

    L is the number of generated tokens, eos included. A larger alpha favours longer outputs; 0 ranks by
    log-probability. `power` gives L^alpha, as in fairseq and Marian, which ranks by the mean where alpha is 1. Both
    grow with L, and their ratio at two lengths with alpha, on which the search's early stop and re-ranking rely.
    """
    penalty: float = ((5 + length) / 6 if kind == "gnmt" else length) ** alpha
    return penalty
