"""Words are runs of letters, marks and digits in every script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data.preparation.filters import is_in_another_language, normalized
from aiayn.data.words import characters_of, letters_of, words_of


def test_words_are_runs_of_letters_and_digits() -> None:
    assert words_of("Der 3. Hund-Haus' „Größe“ ist 3,5!") == ["Der", "3", "Hund", "Haus", "Größe", "ist", "3", "5"]
    assert words_of(" – …") == []
    assert letters_of("Der 3. Hund_Haus") == ["Der", "Hund", "Haus"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("वह दिन था।", ["वह", "दिन", "था"]),
        ("ป่าอยู่ไกล ๓", ["ป่าอยู่ไกล", "๓"]),
        ("שָׁלוֹם, עוֹלָם", ["שָׁלוֹם", "עוֹלָם"]),
        ("বাড়ি যাই", ["বাড়ি", "যাই"]),
        ("Tie\u0302\u0301ng Vie\u0323\u0302t!", ["Tie\u0302\u0301ng", "Vie\u0323\u0302t"]),
    ],
)
def test_marks_belong_to_the_word_of_their_letter(line: str, words: list[str]) -> None:
    assert words_of(line) == words


@given(st.text())
def test_a_word_has_only_letters_marks_and_digits_and_none_is_lost(line: str) -> None:
    expected = "".join(each for each in line if unicodedata.category(each)[0] in "LMN")
    assert "".join(words_of(line)) == expected
    assert characters_of(line) == list(expected)
    assert all(word in line for word in words_of(line))


@pytest.mark.parametrize(
    ("one", "other"), [("वह दिन था।", "वह दान था।"), ("ป่าอยู่ไกล", "ป้าอยู่ไกล"), ("שֵׁם", "שָׁם"), ("क्या", "कया")]
)
def test_sentences_that_differ_in_a_mark_are_not_the_same(one: str, other: str) -> None:
    assert normalized(one) != normalized(other)


def test_languages_are_told_apart_in_every_form_of_unicode() -> None:
    german = "Das können wir für euch über die Straße tragen, wenn sie nicht zur Hand sind."
    decomposed = unicodedata.normalize("NFD", german)
    assert is_in_another_language(decomposed, "en")
    assert not is_in_another_language(decomposed, "de")
