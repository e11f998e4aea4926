"""References are in the form of Unicode in which the tokenizer restores outputs."""

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aiayn.data.corpora.corpus import Corpus
from aiayn.data.given_pieces import SPECIAL_IDS, SPECIAL_SYMBOLS, GivenTokenizer
from aiayn.data.preparation.prepared import PreparationSettings, prepare
from aiayn.data.tokenizer import SubwordTokenizer

VIETNAMESE = unicodedata.normalize("NFD", "Người đàn ông ngồi ở đó.")
BENGALI = "সে বাড়ি যায়\u200c, ঢাকায় আষাঢ় মাসে।".replace("\u09a1\u09bc", "\u09dc").replace("\u09af\u09bc", "\u09df")
"""Letters of ordinary text that NFC decomposes."""


@pytest.fixture(scope="module")
def tokenizer() -> SubwordTokenizer:
    return SubwordTokenizer.train(["a small house", "ein kleines Haus"] * 9, vocabulary_size=270)


@given(st.text())
@example(VIETNAMESE)
@example(BENGALI)
@example("\u0958\u095f a\u0301 \u1100\u1161 \U0001611e\U0001611e")
def test_a_normalised_line_is_what_the_tokenizer_restores(tokenizer: SubwordTokenizer, line: str) -> None:
    [ids] = tokenizer.encode_batch([line])
    assert tokenizer.decode(ids) == tokenizer.normalized(line)


def test_pieces_are_restored_as_they_were_given() -> None:
    pieces = GivenTokenizer([*SPECIAL_SYMBOLS, "▁" + BENGALI], special=SPECIAL_IDS, marker="sentencepiece")
    assert pieces.normalized(BENGALI) == BENGALI


@pytest.mark.parametrize("pretokenized", [False, True])
@pytest.mark.parametrize("line", [VIETNAMESE, BENGALI])
def test_references_equal_perfect_outputs(
    pairs_corpus: Callable[..., Corpus], tmp_path: Path, line: str, pretokenized: bool
) -> None:
    corpus = pairs_corpus([("a", line)], dev=[("a", line)])
    settings = PreparationSettings(vocabulary_size=270, max_length=200, pretokenized=pretokenized)
    data = prepare(corpus, settings=settings, cache=tmp_path)
    dev = data.split("dev")
    assert data.references(dev) == data.tokenizer.decode_batch(dev.target)
    assert dev.target_lines() == [line] != data.references(dev)
