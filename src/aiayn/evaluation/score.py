"""A score and its signature."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """A score with the signature that makes it reproducible."""

    score: float
    """From 0 to 100, but for TER and COMET."""
    signature: str
    """References, case, tokenisation, smoothing, version: sacreBLEU's own, or in its manner."""
