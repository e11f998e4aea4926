"""Sentences in parts of about equal size, by length."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PARTS = 5


def length_parts(lengths: Sequence[int], *, border: int | None = None) -> list[NDArray[np.bool_]]:
    """At most `PARTS` masks over sentences, shortest first; no length is in two parts.

    Args:
        lengths: of each sentence.
        border: a length that ends a part if there are longer sentences; it replaces the nearest quantile.
    """
    if not len(lengths):
        return []
    known = np.asarray(lengths, dtype=np.int64)
    ends = np.quantile(known, np.linspace(0, 1, PARTS + 1)[1:], method="higher")
    if border is not None and known.min() <= border < known.max():
        ends[np.abs(ends[:-1] - border).argmin()] = border
    places = np.searchsorted(np.unique(ends), known)
    return [places == place for place in np.unique(places)]
