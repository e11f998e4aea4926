"""Labels of tokens: lossless, with visible borders, for any output of a model."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data.tokenizer import SubwordTokenizer, TokenizerKind
from aiayn.data.units import CONTINUES, SPACE, Units, token_units, word_units

LINES = ["the small dog sleeps in the small house", "der kleine Hund schläft im kleinen Haus"] * 20

any_text = st.lists(
    st.sampled_from(["⟨eos⟩", "⟨E6⟩", "‿", "␣", " ", "\x85", "\xa0"])
    | st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=9),
    max_size=5,
).map("".join)
any_numbers = st.lists(st.integers(0, 555), max_size=12)


def trained(kind: TokenizerKind, *, pretokenized: bool) -> SubwordTokenizer:
    size = 300 if kind == "byte_pair" else 556
    return SubwordTokenizer.train(LINES, vocabulary_size=size, kind=kind, pretokenized=pretokenized)


@pytest.fixture(
    scope="module",
    params=[("byte_pair", False), ("byte_pair", True), ("word_piece", False)],
    ids=["bytes", "bytes, pretokenized", "word pieces"],
)
def tokenizer(request: pytest.FixtureRequest) -> SubwordTokenizer:
    kind, pretokenized = request.param
    return trained(kind, pretokenized=pretokenized)


def encoded(tokenizer: SubwordTokenizer, text: str) -> list[int]:
    (ids,) = tokenizer.encode_batch([text])
    return ids


@given(any_text)
def test_the_bytes_of_tokens_are_the_text(tokenizer: SubwordTokenizer, text: str) -> None:
    normal = unicodedata.normalize("NFC", text)
    assert b"".join(tokenizer.as_bytes(encoded(tokenizer, text))) == normal.encode()


@given(any_numbers)
def test_the_bytes_of_any_output_equal_its_decoded_text(tokenizer: SubwordTokenizer, numbers: list[int]) -> None:
    ids = [number % tokenizer.vocabulary_size for number in numbers]
    text = b"".join(tokenizer.as_bytes(ids)).decode(errors="replace")
    assert tokenizer.decode(ids).replace("\ufffd", "") == text.replace("\ufffd", "")


@given(any_text, any_numbers)
def test_any_output_has_printable_labels(tokenizer: SubwordTokenizer, text: str, numbers: list[int]) -> None:
    ids = [number % tokenizer.vocabulary_size for number in numbers]
    for shown in (encoded(tokenizer, text), ids, [tokenizer.bos_id, *ids, tokenizer.eos_id]):
        tokens, words = token_units(tokenizer, shown), word_units(tokenizer, shown)
        assert tokens.starts == list(range(len(shown)))
        assert words.starts == sorted(set(words.starts))
        assert words.starts[:1] == tokens.starts[:1]
        for units in (tokens, words):
            assert len(units.labels) == len(units.starts)
            assert all(
                re.sub("(?<=.)[\u200c\u200d]|[\u200c\u200d](?=.)", "", label).isprintable() for label in units.labels
            )
            assert all(units.labels)
        begins = [place for place, label in enumerate(tokens.labels) if not label.startswith(CONTINUES)]
        assert set(begins) <= set(words.starts)


@given(st.lists(st.text("abcdeär7水.!⟨⟩‿", min_size=1, max_size=5), min_size=1, max_size=6).map(" ".join))
def test_words_are_the_text(tokenizer: SubwordTokenizer, text: str) -> None:
    ids = encoded(tokenizer, text)
    words = word_units(tokenizer, ids)
    assert "".join(words.labels) == text.replace(" ", "")
    borders = [*words.starts, len(ids)]
    assert [tokenizer.decode(ids[start:end]).strip() for start, end in pairwise(borders)] == words.labels
    assert words.labels == [text[start:end].strip() for start, end in pairwise([*tokenizer.word_starts(text), None])]


def test_labels_of_an_example() -> None:
    tokenizer = trained("byte_pair", pretokenized=False)
    ids = [tokenizer.bos_id, *encoded(tokenizer, "the kleinen dox, 水\t x"), tokenizer.eos_id]
    assert word_units(tokenizer, ids).labels == ["⟨bos⟩", "the", "kleinen", "dox", ",", "水", "⟨09⟩", "x", "⟨eos⟩"]
    labels = token_units(tokenizer, encoded(tokenizer, "dox 水")).labels
    assert labels == ["do", "‿x", SPACE, "‿⟨E6⟩", "‿⟨B0⟩", "‿⟨B4⟩"]


def test_no_tokens_have_no_units(tokenizer: SubwordTokenizer) -> None:
    assert token_units(tokenizer, []) == word_units(tokenizer, []) == Units([], [])


def test_words_with_marks_and_joiners_are_whole_labels() -> None:
    lines = ["वह दिन क्\u200dष है।", "ป่าอยู่ไกล ป้า", "می\u200cخواهم"] * 20
    learned = SubwordTokenizer.train(lines, vocabulary_size=300, kind="byte_pair")
    for line, words in zip(
        lines, (["वह", "दिन", "क्\u200dष", "है", "।"], ["ป่าอยู่ไกล", "ป้า"], ["می\u200cخواهم"]), strict=False
    ):
        (ids,) = learned.encode_batch([line])
        assert word_units(learned, ids).labels == words
