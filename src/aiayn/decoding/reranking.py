"""Finished hypotheses by another length penalty than the one that they were searched with."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aiayn.decoding.length_penalty import length_penalty
from aiayn.decoding.step import Hypothesis


def reranked(hypotheses: Sequence[Hypothesis], *, alpha: float) -> list[Hypothesis]:
    """Score hypotheses anew, best first; among equals the shorter comes first, as in a search.

    The first of what `BeamSearch.of_each_length` returns is what a search with `alpha` finds, if that is no larger than
    the alpha of the search that found them. Of n-best lists nothing of the kind can be said: there a hypothesis may be
    missing that another alpha ranks first.
    """
    scored = [replace(each, score=_score(each, alpha)) for each in hypotheses]
    return sorted(scored, key=lambda each: (-each.score, each.length))


def _score(hypothesis: Hypothesis, alpha: float) -> float:
    """As the search computes it, in single precision, so that ties are ties there and here."""
    penalty = np.float32(length_penalty(hypothesis.length, alpha=alpha))
    return float(np.float32(hypothesis.log_probability) / penalty)
