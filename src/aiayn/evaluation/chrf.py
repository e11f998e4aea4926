"""chrF2's counts by sentence, from which any selection of sentences can be scored."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from aiayn.evaluation.significance import Floats

ORDERS = 6
"""Characters of the longest n-grams (Popović 2015)."""

BETA = 2
"""Weight of recall against precision."""

COLUMNS = 3 * ORDERS


def chrf_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
    """Counts of character n-grams of order 1 to 6, without white space, float64 [sentences, COLUMNS].

    The columns are those of the hypothesis, those of the reference, and those that match, by order. Rows add up.
    """
    return np.array([_row(*pair) for pair in zip(hypotheses, references, strict=True)], dtype=np.float64)


def _row(hypothesis: str, reference: str) -> list[int]:
    texts = ["".join(line.split()) for line in (hypothesis, reference)]
    rows = []
    for order in range(1, ORDERS + 1):
        found, expected = (Counter(text[at : at + order] for at in range(len(text) - order + 1)) for text in texts)
        given = found.total() if expected else 0  # as sacreBLEU: no precision where there is nothing to find
        rows.append((given, expected.total(), (found & expected).total()))
    return [count for column in zip(*rows, strict=True) for count in column]


def chrf_scores(sums: Floats) -> Floats:
    """chrF2, 0 to 100, of summed columns, [..., COLUMNS] to [...]; orders that a side is too short for do not count."""
    ours, theirs, matches = (sums[..., start : start + ORDERS] for start in range(0, COLUMNS, ORDERS))
    has_both = (ours > 0) & (theirs > 0)
    precision = matches / np.maximum(ours, 1)
    recall = matches / np.maximum(theirs, 1)
    orders = np.maximum(has_both.sum(axis=-1), 1)
    mean_precision = np.where(has_both, precision, 0.0).sum(axis=-1) / orders
    mean_recall = np.where(has_both, recall, 0.0).sum(axis=-1) / orders
    weighted = BETA**2 * mean_precision + mean_recall
    score: Floats = 100 * (1 + BETA**2) * mean_precision * mean_recall / np.where(weighted > 0, weighted, 1.0)
    return score
