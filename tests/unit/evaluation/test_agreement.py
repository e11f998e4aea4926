"""Rank correlations and concordant pairs depend on order alone."""

import itertools
import math

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
    assert (found.pairs, found.concordant) == (5, 3)
    assert concordance([1, 1, 1], [1, 2, 3], separation=0.02, seed=0).pairs == 0


def test_the_p_value_is_the_share_of_permutations() -> None:
    column = [1.0, 2.0, 3.0, 4.0, 5.0]
    same, opposite = (concordance(column, other, separation=0.1, seed=0) for other in (column, column[::-1]))
    assert same.share == 1
    assert same.p_value == pytest.approx(1 / 120, abs=0.004)
    assert opposite.concordant == 0
    assert opposite.p_value == 1


def test_without_relation_small_p_values_are_as_rare_as_they_say() -> None:
    generator = np.random.default_rng(0)
    p_values = [
        concordance(generator.normal(size=8), generator.normal(size=8), separation=0.02, seed=n).p_value
        for n in range(200)
    ]
    assert np.mean(np.array(p_values) <= 0.2) == pytest.approx(0.2, abs=0.09)


def test_the_p_value_of_a_rank_correlation_is_the_share_of_permutations() -> None:
    column = [1.0, 2.0, 3.0, 4.0, 50.0]
    assert spearman_p_value(column, column, seed=0) == pytest.approx(1 / 120, abs=0.004)
    assert spearman_p_value(column, [1, 2, 3, 5, 4], seed=0) == pytest.approx(5 / 120, abs=0.008)
    assert spearman_p_value(column, column[::-1], seed=0) == 1
