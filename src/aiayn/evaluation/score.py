"""A score and its signature."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """A score with the signature that makes it reproducible."""

    score: float
    """From 0 to 100, except TER and COMET."""
    signature: str
    """References, case, tokenisation, smoothing, version, in sacreBLEU's form."""
