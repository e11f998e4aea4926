import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.decoding.candidates import best_continuations, ranked

values = st.sampled_from([0.0, -0.0, 1.0, -1.0, -2.5, 3e-39, -3e-39, 1e30, math.inf, -math.inf, 7.25])


@given(st.integers(1, 4), st.integers(1, 9), st.integers(1, 12), st.data())
@settings(max_examples=60)
def test_ranked_is_a_stable_sort(rows: int, width: int, count: int, data: st.DataObject) -> None:
    row = st.lists(values, min_size=width, max_size=width)
    drawn = torch.tensor(data.draw(st.lists(row, min_size=rows, max_size=rows)))
    expected = drawn.sort(dim=1, descending=True, stable=True).indices[:, :count]
    assert torch.equal(ranked(drawn, count), expected)


def test_nan_ranks_highest_whatever_its_sign() -> None:
    drawn = torch.tensor([[1.0, math.nan, 5.0], [1.0, -math.nan, 5.0]])
    assert ranked(drawn, 1).tolist() == [[1], [1]]


@given(
    st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 300), st.integers(1, 12), st.sampled_from([2, 9, 10**6])
)
@settings(max_examples=100)
def test_best_continuations_are_those_of_sorting_everything(
    seed: int, beam_size: int, vocabulary: int, count: int, levels: int
) -> None:
    """Few levels tie often. All are whole quarters, so that sums are exact, where a model's would be rounded."""
    torch.manual_seed(seed)
    normalizers = torch.randint(1, 9, (3, beam_size)).float()
    log_probabilities = -torch.randint(1, levels + 1, (3, beam_size, vocabulary)) / 4
    totals = -torch.randint(0, levels, (3, beam_size)) / 4
    sums = (totals.unsqueeze(-1) + log_probabilities).flatten(1)
    expected = sums.sort(dim=1, descending=True, stable=True)
    best, beams, tokens = best_continuations(totals, log_probabilities + normalizers.unsqueeze(-1), normalizers, count)
    assert torch.equal(best, expected.values[:, :count])
    assert torch.equal(beams * vocabulary + tokens, expected.indices[:, :count])
