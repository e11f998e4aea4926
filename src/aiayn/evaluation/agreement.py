"""Agreement of two columns of numbers on the order of the same systems."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

PERMUTATIONS = 10_000


@dataclass(frozen=True)
class Concordance:
    """The number of pairs that a reference column separates, and of those that another column orders alike."""

    pairs: int
    """The number of pairs that the reference column separates."""
    concordant: int
    """The number of these pairs that the other column orders alike."""
    p_value: float
    """The share of permutations of the other column with at least as many concordant pairs."""

    @property
    def share(self) -> float:
        """The share of concordant pairs; NaN if there are no pairs."""
        return self.concordant / self.pairs if self.pairs else math.nan


def concordance(reference: ArrayLike, other: ArrayLike, *, separation: float, seed: int) -> Concordance:
    """The pairs of systems that [n] reference values separate by more than `separation`, and their order in [n] others.

    The one-sided p-value tests the hypothesis that the others' order is independent of the reference's.
    """
    reference, other = np.asarray(reference, dtype=np.float64), np.asarray(other, dtype=np.float64)
    differences = reference[:, None] - reference[None, :]
    first, second = np.nonzero(np.triu(np.abs(differences) > separation))
    signs = np.sign(differences[first, second])

    generator = np.random.default_rng(seed)
    orders = [other[None], generator.permuted(np.tile(other, (PERMUTATIONS, 1)), axis=1)]
    found, permuted = ((np.sign(each[:, first] - each[:, second]) == signs).sum(axis=1) for each in orders)
    at_least = int((permuted >= found).sum())
    return Concordance(len(signs), int(found[0]), (at_least + 1) / (PERMUTATIONS + 1))


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rank correlation of [n] and [n]; ties have their mean rank; NaN if one side does not vary."""
    from scipy.stats import ConstantInputWarning, spearmanr  # takes a second to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantInputWarning)
        return float(spearmanr(first, second).statistic)


def spearman_p_value(first: ArrayLike, second: ArrayLike, *, seed: int) -> float:
    """The share of permutations of [n] second values with at least as high a rank correlation with [n] first ones.

    It is the one-sided p-value of the hypothesis that the two orders are independent.
    """
    from scipy.stats import rankdata

    ranks, others = rankdata(first), rankdata(second)
    permuted = np.random.default_rng(seed).permuted(np.tile(others, (PERMUTATIONS, 1)), axis=1)
    at_least = int((permuted @ ranks >= others @ ranks).sum())  # exact: ranks are multiples of a half
    return (at_least + 1) / (PERMUTATIONS + 1)
