"""Rank correlations and concordant pairs depend on order alone."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from aiayn.evaluation.agreement import concordance, spearman, spearman_p_value


def test_spearmans_correlation_of_distinct_ranks_is_the_textbooks() -> None:
    for order in itertools.permutations(range(5)):
        squares = sum((place - rank) ** 2 for place, rank in enumerate(order))
        assert spearman(range(5), order) == pytest.approx(1 - 6 * squares / (5 * 24))


@given(values=arrays.arrays(np.int64, st.integers(2, 12), elements=st.integers(-3, 3)), data=st.data())
def test_ranks_depend_on_order_alone_and_ties_share_theirs(values: np.ndarray, data: st.DataObject) -> None:
    others = data.draw(arrays.arrays(np.int64, len(values), elements=st.integers(-3, 3)))
    correlation = spearman(values, others)
    if len(set(values.tolist())) == 1 or len(set(others.tolist())) == 1:
        assert math.isnan(correlation)
        return
    assert spearman(values, values) == pytest.approx(1)
    assert -1 - 1e-9 <= correlation <= 1 + 1e-9
    assert spearman(np.exp(values), others) == pytest.approx(correlation)
    assert spearman(-values, others) == pytest.approx(-correlation)
    order = data.draw(st.permutations(range(len(values))))
    assert spearman(values[order], others[order]) == pytest.approx(correlation)


def test_pairs_that_the_reference_does_not_separate_do_not_count() -> None:
    found = concordance([1.00, 1.01, 1.10, 1.20], [1, 9, 2, 3], separation=0.02, seed=0)
    assert (found.pairs, found.concordant, found.share) == (5, 3, 3 / 5)
    assert concordance([1, 1, 1], [1, 2, 3], separation=0.02, seed=0).pairs == 0


def of_pairs(reference: list[float], other: list[float]) -> float:
    return concordance(reference, other, separation=0.1, seed=0).p_value


def of_ranks(reference: list[float], other: list[float]) -> float:
    return spearman_p_value(reference, other, seed=0)


@pytest.mark.parametrize("p_value", [of_pairs, of_ranks])
@pytest.mark.parametrize(("other", "as_high"), [([1, 2, 3, 4, 5], 1), ([1, 2, 3, 5, 4], 5), ([5, 4, 3, 2, 1], 120)])
def test_the_p_value_is_the_share_of_permutations(
    p_value: Callable[[list[float], list[float]], float], other: list[float], as_high: int
) -> None:
    assert p_value([1.0, 2.0, 3.0, 4.0, 50.0], other) == pytest.approx(as_high / 120, abs=0.004)
