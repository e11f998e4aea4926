"""Sentences are told from those of other languages by words that one language alone has."""

from itertools import combinations
from pathlib import Path

import pytest

from aiayn.data.corpora.languages import FUNCTION_WORDS, is_in_another_language, refuse_unknown_languages
from aiayn.data.lines import file_lines
from aiayn.errors import UserError


def test_no_word_is_of_two_languages() -> None:
    for one, other in combinations(FUNCTION_WORDS.values(), 2):
        assert not one & other


def test_a_sentence_of_its_language_passes_and_one_of_another_does_not() -> None:
    english, german = "The cat is on the mat, and not mine.", "Die Katze ist auf der Matte, und nicht von mir."
    assert not is_in_another_language(english, "en")
    assert not is_in_another_language(german, "de")
    assert is_in_another_language(english, "de")
    assert is_in_another_language(german, "fr")
    assert not is_in_another_language("Der Spiegel, Die Zeit", "en"), "names are short"


def test_languages_that_are_not_known_are_refused_in_one_line() -> None:
    refuse_unknown_languages("de", "fr")
    with pytest.raises(UserError, match=r"^data\.filters\.language=true: the test knows en, de, fr, not cs and ro;"):
        refuse_unknown_languages("ro", "cs")


def test_real_news_pass_and_their_translations_do_not(aiayn_data: Path) -> None:
    sides = {language: aiayn_data / "news" / f"newstest2013.{language}.gz" for language in ("en", "de")}
    for language, other in (("en", "de"), ("de", "en")):
        lines = list(file_lines(sides[language], ""))[:500]
        assert not any(is_in_another_language(line, language) for line in lines)
        assert sum(is_in_another_language(line, other) for line in lines) > 0.7 * len(lines)
