"""The length penalty of beam search."""

from typing import Literal, TypeAlias

LengthPenalty: TypeAlias = Literal["gnmt", "power"]


def length_penalty(length: int, *, alpha: float, kind: LengthPenalty) -> float:
    """lp(L) = ((5 + L) / 6)^alpha (Wu et al. 2016, equation 14; the paper's section 6.1 takes alpha = 0.6).

    L is the number of generated tokens, eos included. A larger alpha favours longer outputs; 0 ranks by
    log-probability. `power` gives L^alpha, as in fairseq and Marian; with alpha 1 it ranks by the mean. The search's
    early stop and re-ranking rely on two properties of both: lp grows with L, and for L2 > L1, lp(L2) / lp(L1) grows
    with alpha.
    """
    penalty: float = ((5 + length) / 6 if kind == "gnmt" else length) ** alpha
    return penalty
