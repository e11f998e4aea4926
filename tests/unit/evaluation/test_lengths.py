"""Parts of about equal size, none of which shares a length with another."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.evaluation.lengths import PARTS, length_parts


@given(lengths=st.lists(st.integers(1, 60), max_size=40), border=st.none() | st.integers(1, 60))
def test_parts_share_no_sentence_and_no_length(lengths: list[int], border: int | None) -> None:
    parts = length_parts(lengths, border=border)
    assert len(parts) <= PARTS
    assert not lengths or np.stack(parts).sum(axis=0).tolist() == [1] * len(lengths)
    ranges = [np.array(lengths)[inside] for inside in parts]
    assert all(one.max() < other.min() for one, other in pairwise(ranges))
    assert border is None or all(each.max() <= border or border < each.min() for each in ranges)


@pytest.mark.parametrize("border", [10, 37, 99])
def test_parts_are_about_equal_and_a_border_ends_one(border: int) -> None:
    lengths = [*range(1, 101)]
    assert [int(inside.sum()) for inside in length_parts(lengths)] == pytest.approx([20] * PARTS, abs=1)
    assert border in {max(np.array(lengths)[inside]) for inside in length_parts(lengths, border=border)}
