"""Patience counts validations without a new lowest perplexity, as published recipes count them."""

import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from aiayn.runs.directory import RunDirectory
from aiayn.training.patience import Patience

perplexities = st.lists(st.sampled_from([1.5, 2.0, 2.5, 3.0, math.inf]), max_size=12)


def after(found: list[float], patience: int) -> Patience:
    """The counters after validations at steps 10, 20, and so on."""
    counted = Patience(RunDirectory(Path("nowhere")), patience=patience)
    for number, ppl in enumerate(found, start=1):
        counted.count(10 * number, ppl)
    return counted


@given(perplexities, st.integers(1, 4))
def test_training_ends_when_the_last_validations_are_no_better_than_one_before(
    found: list[float], patience: int
) -> None:
    before, last = found[:-patience], found[-patience:]
    has_waited = len(last) == patience and min(last) >= min(before, default=math.inf)
    assert after(found, patience).is_exhausted == has_waited


@given(perplexities, st.integers(1, 4))
def test_the_best_step_is_the_first_with_the_lowest_perplexity(found: list[float], patience: int) -> None:
    lowest = min(found, default=math.inf)
    expected = 10 * (1 + found.index(lowest)) if lowest < math.inf else 0
    assert after(found, patience).best_step == expected


@given(perplexities, perplexities, st.integers(1, 4))
def test_restored_counters_count_on(found: list[float], others: list[float], patience: int) -> None:
    restored = Patience(RunDirectory(Path("nowhere")), patience=patience)
    restored.load_state_dict(after(found, patience).state_dict())
    for number, ppl in enumerate(others, start=len(found) + 1):
        restored.count(10 * number, ppl)
    assert restored.state_dict() == after(found + others, patience).state_dict()
