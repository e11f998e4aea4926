import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.evaluation.perplexity import perplexity

sentences = st.lists(st.tuples(st.floats(0, 1e4), st.integers(1, 100)), min_size=1, max_size=20)


@given(tokens=st.lists(st.integers(1, 100), min_size=1, max_size=20), size=st.integers(1, 50_000))
def test_a_uniform_model_is_as_perplexed_as_its_vocabulary_is_large(tokens: list[int], size: int) -> None:
    assert perplexity([n * math.log(size) for n in tokens], tokens) == pytest.approx(size)


@given(rows=sentences, data=st.data())
def test_the_order_of_sentences_changes_no_bit(rows: list[tuple[float, int]], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    assert perplexity(*zip(*rows, strict=True)) == perplexity(*zip(*shuffled, strict=True))


@given(rows=sentences)
def test_tokens_count_alike_however_they_are_cut_into_sentences(rows: list[tuple[float, int]]) -> None:
    nll, tokens = zip(*rows, strict=True)
    assert perplexity(nll, tokens) == pytest.approx(perplexity([sum(nll)], [sum(tokens)]), rel=1e-6)


def test_float32_losses_are_summed_in_float64() -> None:
    nll = np.array([2**24] + [1] * 2**10, dtype=np.float32)  # a float32 running sum stands still at 2^24
    assert perplexity(nll, nll.astype(np.int64)) == math.e


def test_overflow_is_infinite_and_not_an_error() -> None:
    assert perplexity([1e6], [1]) == math.inf
    assert perplexity([math.inf], [1]) == math.inf
    assert math.isnan(perplexity([math.nan], [1]))


@pytest.mark.parametrize(("nll", "tokens"), [([], []), ([0.0], [0])])
def test_nothing_to_score_is_told(nll: list[float], tokens: list[int]) -> None:
    with pytest.raises(UserError, match="perplexity"):
        perplexity(nll, tokens)


def test_each_sentence_has_a_loss_and_a_count() -> None:
    with pytest.raises(AssertionError, match="losses"):
        perplexity([1.0, 2.0], [3])
