"""First occurrences are those of the whole sequence; words make a sentence, and nothing else does."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data.filters import first_occurrences, normalized, pair_hashes

VALUES = st.lists(st.lists(st.integers(0, 9) | st.integers(0, 2**64 - 1), max_size=9), max_size=5)


@given(VALUES, st.integers(1, 30))
def test_the_first_of_each_kind_however_few_are_sorted_at_a_time(values: Sequence[list[int]], at_once: int) -> None:
    parts = [np.array(part, np.uint64) for part in values]
    flat = [value for part in values for value in part]
    expected = [flat.index(value) == place for place, value in enumerate(flat)]
    assert first_occurrences(parts, at_once=at_once).tolist() == expected


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=6))
def test_pairs_have_equal_hashes_exactly_where_they_are_equal(pairs: list[tuple[str, str]]) -> None:
    texts = [tuple(line.replace("\n", "") for line in pair) for pair in pairs]
    hashes = pair_hashes(([source for source, _ in texts], [target for _, target in texts]))
    for one, text in zip(hashes, texts, strict=True):
        assert [one == other for other in hashes] == [text == other for other in texts]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [("Don't \u2019do\u2019 it!", "don t do it"), (" ... ", ""), ("\ufb01ne  STRASSE 7", "fine strasse 7")],
)
def test_a_sentence_is_its_words(sentence: str, words: str) -> None:
    assert normalized(sentence) == words


@given(st.text())
def test_normalizing_twice_changes_nothing(sentence: str) -> None:
    once = normalized(sentence)
    assert " ".join(once.split()) == once
