"""Sentences in memory are laid out as those on disk, so that both make the same batches."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data.batches.collation import padded
from aiayn.data.batches.sentences import SentencesInMemory

PAD, EOS = 0, 2


@given(st.lists(st.lists(st.integers(3, 90), max_size=6), max_size=6))
def test_each_sentence_ends_where_the_next_begins(sentences: list[list[int]]) -> None:
    there = SentencesInMemory.of(sentences, eos_id=EOS)
    assert there.lengths.tolist() == [len(sentence) + 1 for sentence in sentences]
    ranges = zip(there.offsets, there.offsets[1:], strict=False)
    assert [there.tokens[start:end].tolist() for start, end in ranges] == [[*each, EOS] for each in sentences]


@given(st.lists(st.lists(st.integers(3, 90), max_size=6), min_size=1, max_size=6), st.data())
def test_a_batch_of_them_is_padded_on_the_right(sentences: list[list[int]], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(sentences) - 1), min_size=1))
    rows = padded(SentencesInMemory.of(sentences, eos_id=EOS), np.array(numbers, np.int64), PAD)
    longest = max(len(sentences[number]) for number in numbers) + 1
    expected = [[*sentences[number], EOS] for number in numbers]
    assert rows.tolist() == [row + [PAD] * (longest - len(row)) for row in expected]
