import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.models.positions import SinusoidalPositions, sinusoids
from aiayn.models.variants.positions import ConcatenatedPositions, LearnedPositions, NoPositions


@given(st.integers(0, 3000), st.integers(1, 64), st.data())
def test_sinusoids_are_the_formula(position: int, half: int, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, half - 1))
    angle = position / 10000 ** (2 * i / (2 * half))
    row = sinusoids(torch.tensor(position), 2 * half)
    assert float(row[2 * i]) == pytest.approx(math.sin(angle), abs=1e-6)
    assert float(row[2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-6)


@given(st.integers(0, 60), st.integers(1, 60), st.integers(1, 40))
def test_the_table_never_shows(start: int, length: int, max_positions: int) -> None:
    """A row is the same whether it comes from the table, straddles its end or lies behind it."""
    encoding, positions = SinusoidalPositions(max_positions=max_positions, d_model=6), torch.arange(start + length)
    expected = sinusoids(positions, 6)[start:]
    assert torch.equal(encoding.encodings(positions[start:], longest=start + length), expected)
    embedded = torch.randn(length, 6)
    placed = encoding(embedded, positions[start:], longest=start + length)
    assert torch.equal(placed, embedded + expected)


@given(st.integers(0, 200), st.integers(-100, 200))
def test_a_shift_is_a_rotation_that_does_not_depend_on_the_position(position: int, shift: int) -> None:
    """Section 3.5: PE(pos + k) is a linear function of PE(pos), for any fixed k."""
    shift = max(shift, -position)
    here, there = sinusoids(torch.tensor([position, position + shift]), 8).view(2, 4, 2).double()
    for i in range(4):
        angle = shift / 10000 ** (2 * i / 8)
        rotation = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]], dtype=torch.float64
        )
        torch.testing.assert_close(rotation @ here[i], there[i], rtol=0, atol=1e-6)


def test_sinusoids_are_neither_learned_nor_saved() -> None:
    positions = SinusoidalPositions(max_positions=8, d_model=6)
    assert not list(positions.parameters())
    assert not positions.state_dict()


def test_sinusoids_refuse_an_odd_width() -> None:
    with pytest.raises(UserError, match=r"^model\.d_model=511: must be even"):
        SinusoidalPositions(max_positions=8, d_model=511)


def test_learned_positions_are_rows_of_one_table_and_end_with_it() -> None:
    positions = LearnedPositions(max_positions=8, d_model=6)
    embedded = torch.randn(3, 6)
    placed = positions(embedded, torch.tensor([0, 7, 4]), longest=8)
    assert torch.equal(placed, embedded + positions.table[[0, 7, 4]])
    with pytest.raises(UserError, match=r"^model\.max_positions=8: too few for 9 tokens"):
        positions(embedded, torch.tensor([0, 7, 8]), longest=9)


@pytest.mark.parametrize("kind", [SinusoidalPositions, ConcatenatedPositions, LearnedPositions])
def test_one_position_for_every_beam_is_as_one_for_each(
    kind: type[SinusoidalPositions | ConcatenatedPositions | LearnedPositions],
) -> None:
    encoding, embedded = kind(max_positions=8, d_model=6), torch.randn(2, 3, 6)
    positions = torch.tensor([[4], [7]])
    placed = encoding(embedded, positions, longest=8)
    torch.testing.assert_close(placed, encoding(embedded, positions.expand(2, 3), longest=8))


def test_concatenated_positions_are_a_map_of_both_side_by_side() -> None:
    torch.manual_seed(0)
    encoding, embedded, positions = (
        ConcatenatedPositions(max_positions=4, d_model=6),
        torch.randn(7, 6),
        torch.arange(7),
    )
    of_embedded, of_positions = encoding.projection.weight.chunk(2, dim=1)
    expected = embedded @ of_embedded.T + sinusoids(positions, 6) @ of_positions.T
    torch.testing.assert_close(encoding(embedded, positions, longest=7), expected)


def test_without_positions_embeddings_stay_as_they_are() -> None:
    embedded = torch.randn(3, 6)
    assert NoPositions()(embedded, torch.arange(3), longest=3) is embedded
