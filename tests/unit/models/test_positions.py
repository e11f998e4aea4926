import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.models.positions import LearnedPositions, SinusoidalPositions, sinusoids


@given(st.integers(0, 3000), st.integers(1, 64), st.data())
def test_sinusoids_are_the_formula(position: int, half: int, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, half - 1))
    angle = position / 10000 ** (2 * i / (2 * half))
    row = sinusoids(position, 1, 2 * half)[0]
    assert float(row[2 * i]) == pytest.approx(math.sin(angle), abs=1e-6)
    assert float(row[2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-6)


@given(st.integers(0, 60), st.integers(1, 60), st.integers(1, 40))
def test_the_table_never_shows(start: int, length: int, max_positions: int) -> None:
    """A row is the same whether it comes from the table, straddles its end or lies behind it."""
    encodings = SinusoidalPositions(max_positions=max_positions, d_model=6)(length, start=start)
    assert torch.equal(encodings, sinusoids(0, start + length, 6)[start:])


@given(st.integers(0, 200), st.integers(-100, 200))
def test_a_shift_is_a_rotation_that_does_not_depend_on_the_position(position: int, shift: int) -> None:
    """Section 3.5: PE(pos + k) is a linear function of PE(pos), for any fixed k."""
    shift = max(shift, -position)
    here, there = (
        sinusoids(position, 1, 8)[0].view(4, 2).double(),
        sinusoids(position + shift, 1, 8)[0].view(4, 2).double(),
    )
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
    assert torch.equal(positions(8), positions.table)
    assert torch.equal(positions(2, start=3), positions.table[3:5])
    with pytest.raises(UserError, match=r"^model\.max_positions=8: too few for 9 tokens"):
        positions(4, start=5)
