"""Sentences in parts of about equal size, by length."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

PARTS = 5


def length_parts(lengths: Sequence[int], *, borders: Iterable[int] = ()) -> list[NDArray[np.bool_]]:
    """At most `PARTS` masks over sentences, shortest first; no length is in two parts.

    Args:
        lengths: of each sentence.
        borders: lengths that end a part if there are longer sentences; each replaces the nearest quantile.
    """
    if not len(lengths):
        return []
    known = np.asarray(lengths, dtype=np.int64)
    ends = np.quantile(known, np.linspace(0, 1, PARTS + 1)[1:], method="higher")
    for length in {length for length in borders if known.min() <= length < known.max()}:
        ends[np.abs(ends[:-1] - length).argmin()] = length
    places = np.searchsorted(np.unique(ends), known)
    return [places == place for place in np.unique(places)]
