import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.decoding.step import Hypothesis, closed_up, hypothesis_from_path, longest_output
from aiayn.errors import RunFailedError


def test_path_is_cut_at_its_first_eos() -> None:
    made = hypothesis_from_path([5, 6, 2, 2], log_probability=-2.0, score=-1.0, eos_id=2)
    assert made == Hypothesis(tokens=(5, 6), log_probability=-2.0, score=-1.0, finished=True)


def test_path_without_eos_is_unfinished() -> None:
    made = hypothesis_from_path([5, 6], log_probability=-2.0, score=-1.0, eos_id=2)
    assert made == Hypothesis(tokens=(5, 6), log_probability=-2.0, score=-1.0, finished=False)


def test_impossible_path_shows_nothing() -> None:
    made = hypothesis_from_path([5, 2], log_probability=-math.inf, score=-math.inf, eos_id=2)
    assert made == Hypothesis(tokens=(), log_probability=-math.inf, score=-math.inf, finished=False)


def test_model_that_diverged_is_told() -> None:
    with pytest.raises(RunFailedError, match="nan"):
        hypothesis_from_path([5], log_probability=math.nan, score=math.nan, eos_id=2)


def test_longest_output() -> None:
    assert longest_output(torch.tensor([3, 9, 1])) == 9
    assert longest_output(torch.tensor([], dtype=torch.int64)) == 0
    with pytest.raises(AssertionError, match="room for eos"):
        longest_output(torch.tensor([3, 0]))


@given(st.lists(st.booleans(), max_size=12))
def test_those_who_stay_close_up_and_few_move(stopped: list[bool]) -> None:
    order = closed_up(torch.tensor(stopped, dtype=torch.bool)).tolist()
    assert sorted(order) == [row for row, gone in enumerate(stopped) if not gone]
    assert all(gone or order[row] == row for row, gone in enumerate(stopped[: len(order)]))
