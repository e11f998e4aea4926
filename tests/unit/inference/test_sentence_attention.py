"""Attention between words follows from attention between their pieces."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aiayn.inference.sentence_attention import merge_units

SIZES = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@given(SIZES, SIZES, st.integers(0, 2**32))
def test_pieces_are_summed_as_keys_and_averaged_as_queries(queries: list[int], keys: list[int], seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(sum(keys)), size=(2, 3, sum(queries)))
    rows, columns = (np.cumsum([0, *sizes]) for sizes in (queries, keys))
    result = merge_units(weights, queries=rows[:-1].tolist(), keys=columns[:-1].tolist())
    assert result.shape == (2, 3, len(queries), len(keys))
    np.testing.assert_allclose(result.sum(axis=-1), 1.0)
    for row in range(len(queries)):
        for column in range(len(keys)):
            pieces = weights[..., rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
            np.testing.assert_allclose(result[..., row, column], pieces.sum(axis=-1).mean(axis=-1))
