"""Criteria for dropping training pairs."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data.lines import file_lines
from aiayn.data.preparation.filters import (
    FUNCTION_WORDS,
    check_languages,
    first_occurrences,
    is_in_another_language,
    normalized,
    pair_hashes,
)
from aiayn.errors import UserError

VALUES = st.lists(st.lists(st.integers(0, 9) | st.integers(0, 2**64 - 1), max_size=9), max_size=5)


@given(VALUES, st.integers(1, 30))
def test_first_occurrences_do_not_depend_on_the_share_size(values: Sequence[list[int]], share_size: int) -> None:
    parts = [np.array(part, np.uint64) for part in values]
    flat = [value for part in values for value in part]
    expected = [flat.index(value) == place for place, value in enumerate(flat)]
    assert first_occurrences(parts, share_size=share_size).tolist() == expected


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=6))
def test_equal_hashes_mean_equal_pairs(pairs: list[tuple[str, str]]) -> None:
    texts = [tuple(line.replace("\n", "") for line in pair) for pair in pairs]
    hashes = pair_hashes(([source for source, _ in texts], [target for _, target in texts]))
    for one, text in zip(hashes, texts, strict=True):
        assert [one == other for other in hashes] == [text == other for other in texts]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [("Don't \u2019do\u2019 it!", "don t do it"), (" ... ", ""), ("\ufb01ne  STRASSE 7", "fine strasse 7")],
)
def test_normalization_keeps_the_words(sentence: str, words: str) -> None:
    assert normalized(sentence) == words


@given(st.text())
def test_normalized_text_has_single_spaces(sentence: str) -> None:
    once = normalized(sentence)
    assert " ".join(once.split()) == once


def test_no_function_word_belongs_to_two_languages() -> None:
    for one, other in combinations(FUNCTION_WORDS.values(), 2):
        assert not one & other


def test_sentences_of_another_language_are_detected() -> None:
    english, german = "The cat is on the mat, and not mine.", "Die Katze ist auf der Matte, und nicht von mir."
    assert not is_in_another_language(english, "en")
    assert not is_in_another_language(german, "de")
    assert is_in_another_language(english, "de")
    assert is_in_another_language(german, "fr")
    assert not is_in_another_language("Der Spiegel, Die Zeit", "en"), "names are short"


def test_unsupported_languages_are_refused() -> None:
    check_languages("de", "fr")
    with pytest.raises(UserError, match=r"^data\.filters\.language=true supports en, de, fr, not cs and ro;"):
        check_languages("ro", "cs")


def test_real_news_pass_and_their_translations_do_not(aiayn_data: Path) -> None:
    sides = {language: aiayn_data / "news" / f"newstest2013.{language}.gz" for language in ("en", "de")}
    for language, other in (("en", "de"), ("de", "en")):
        lines = list(file_lines(sides[language], ""))[:500]
        assert not any(is_in_another_language(line, language) for line in lines)
        assert sum(is_in_another_language(line, other) for line in lines) > 0.7 * len(lines)
