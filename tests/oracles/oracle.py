"""Comparisons with reference implementations, and the table of their largest differences."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Rows: TypeAlias = dict[str, dict[str, float]]
"""{library: {quantity: largest difference}}."""


class Oracle:
    """Asserts agreement with a reference implementation, and keeps the largest difference of each quantity.

    A test file names the library as `LIBRARY` and takes the fixture `oracle`.
    """

    def __init__(self, library: str, rows: Rows) -> None:
        """Name the reference: `library` includes its version, as the table shows it."""
        self._rows = rows.setdefault(library, {})

    def agrees(self, quantity: str, own: ArrayLike, reference: ArrayLike, *, tolerance: float) -> None:
        """Require equal shapes and differences of at most `tolerance`, an absolute one; 0 for token ids.

        `quantity` is the table's text, as "logits, float64"; of several comparisons the largest difference is kept.
        """
        ours, theirs = np.asarray(own), np.asarray(reference)
        assert ours.shape == theirs.shape, f"{quantity}: {ours.shape} instead of {theirs.shape}"
        assert ours.size, f"{quantity}: nothing to compare"
        difference = float(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max())
        self._rows[quantity] = max(difference, self._rows.get(quantity, 0.0))
        assert difference <= tolerance, f"{quantity}: the largest difference is {difference:.2e}, above {tolerance:.0e}"
