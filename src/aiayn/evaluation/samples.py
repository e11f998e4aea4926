"""Samples of a corpus: sentences spread evenly over it; the worst, the median and the best."""

from collections.abc import Sequence

import numpy as np


def spread(total: int, count: int) -> list[int]:
    """Indices of at most `count` sentences spread evenly over `total`, in order."""
    count = min(total, count)
    return [index * total // count for index in range(count)]


def representative_sample(scores: Sequence[float], count: int) -> list[int]:
    """Indices of at most `count` sentences by rising score: the worst, the best, the median, and others.

    The others are spread evenly and do not depend on the scores.
    """
    ranked = np.argsort(np.asarray(scores), kind="stable").tolist()
    total = len(ranked)
    extremes = [ranked[0], ranked[-1], ranked[(total - 1) // 2]] if total else []
    chosen = {*extremes[:count], *spread(total, total if total <= count else max(0, count - len(extremes)))}
    return [index for index in ranked if index in chosen]
