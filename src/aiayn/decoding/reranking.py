"""Finished hypotheses ranked by another length penalty than that of their search."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aiayn.decoding.length_penalty import LengthPenalty, length_penalty
from aiayn.decoding.step import Hypothesis


def reranked(hypotheses: Sequence[Hypothesis], *, alpha: float, kind: LengthPenalty) -> list[Hypothesis]:
    """Score hypotheses anew, best first; ties go to the shorter one, as in a search.

    With the hypotheses of `BeamSearch.of_each_length`, the first is the result of a search with `alpha`, if `alpha` is
    at most that of their search and `kind` is its penalty. N-best lists may lack this result.
    """
    scored = [replace(each, score=_score(each, alpha, kind)) for each in hypotheses]
    return sorted(scored, key=lambda each: (-each.score, each.length))


def _score(hypothesis: Hypothesis, alpha: float, kind: LengthPenalty) -> float:
    """As the search computes it, in single precision, so that ties are the same."""
    penalty = np.float32(length_penalty(hypothesis.length, alpha=alpha, kind=kind))
    return float(np.float32(hypothesis.log_probability) / penalty)
