"""Whole symbols: what targets hold is known, rare words are told apart by how they look."""

import pickle
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.config.errors import UserError
from aiayn.data.symbols import SymbolTokenizer, signature
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.data.units import word_units
from aiayn.data.vocabulary import load_tokenizer, train_tokenizer

WORDS = st.text(st.characters(exclude_characters=" \n", exclude_categories=["Cs"]), min_size=1, max_size=12)
LINES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
SENTENCES = ["the dog barks .", "the cat sleeps .", "the dog sees 1984", "walking Rex well-known walked U.S. 12-year"]
TREES = ["(S (NP XX XX )NP (VP XX )VP XX )S", "(S XX )S"]


def trained(size: int = 40) -> SymbolTokenizer:
    return SymbolTokenizer.train([(SENTENCES, TREES)], vocabulary_size=size)


@given(st.lists(LINES, min_size=1), st.lists(LINES, min_size=1), st.integers(0, 40))
def test_targets_are_never_unknown_and_no_id_is_beyond_the_vocabulary(
    sources: list[str], targets: list[str], more: int
) -> None:
    symbols = {symbol for target in targets for symbol in target.split(" ")}
    size = 3 + len(symbols) + 1 + more
    tokenizer = SymbolTokenizer.train([(sources, targets)], vocabulary_size=size)
    assert tokenizer.vocabulary_size == len(set(tokenizer.pieces)) <= size
    for target, ids in zip(targets, tokenizer.encode_batch(targets), strict=True):
        assert tokenizer.decode(ids) == target
    for source, ids in zip(sources, tokenizer.encode_batch(sources), strict=True):
        assert len(ids) == len(source.split(" "))
        assert all(3 <= number < size for number in ids)
    with pytest.raises(UserError, match=rf"^tokenizer\.vocabulary_size={3 + len(symbols)} is too small "):
        SymbolTokenizer.train([(sources, targets)], vocabulary_size=3 + len(symbols))


@given(st.lists(LINES, max_size=4))
def test_special_tokens_and_classes_are_not_read_from_text(lines: list[str]) -> None:
    tokenizer = trained()
    named = [*tokenizer.pieces[:3], *tokenizer.classes]
    for ids in tokenizer.encode_batch([*lines, " ".join(named)]):
        assert not set(ids) & {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}
    (ids,) = tokenizer.encode_batch([" ".join(named)])
    assert {tokenizer.pieces[number] for number in ids} <= set(tokenizer.classes)


def test_frequent_words_are_known_and_words_seen_once_are_classes() -> None:
    tokenizer = trained()
    assert set(tokenizer.words) == {".", "the", "dog"}
    assert tokenizer.words == tuple(
        sorted(tokenizer.words, key=lambda word: (-" ".join(SENTENCES).split().count(word), word))
    )
    (known, unknown) = tokenizer.encode_batch(["the dog", "the wolf"])
    assert known[0] == unknown[0]
    assert tokenizer.decode(unknown) == "the ⟨unk-LC⟩"


def test_fewer_entries_hold_the_most_frequent_words() -> None:
    words = [set(trained(size).words) for size in range(13, 41)]
    assert all(fewer <= more for fewer, more in pairwise(words))
    assert words[0] < words[-1]


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("dog", ("LC",)),
        ("dogs", ("LC", "s")),
        ("glass", ("LC",)),
        ("bus", ("LC",)),
        ("walking", ("LC", "ing")),
        ("Walking", ("INITC", "ing")),
        ("IBM", ("CAPS",)),
        ("McDonald", ("CAPS",)),
        ("1984", ("NUM",)),
        ("1980s", ("LC", "NUM", "s")),
        ("12-year", ("LC", "NUM", "DASH")),
        ("well-known", ("LC", "DASH")),
        ("nationality", ("LC", "ity")),
        ("…", ()),
    ],
)
def test_signatures(word: str, parts: tuple[str, ...]) -> None:
    assert signature(word) == parts


def test_a_class_that_training_never_had_falls_back_to_the_nearest() -> None:
    tokenizer = trained()
    assert "⟨unk-LC-ing⟩" in tokenizer.classes
    (ids,) = tokenizer.encode_batch(["talking swiftly … 7-fold"])
    assert tokenizer.decode(ids) == "⟨unk-LC-ing⟩ ⟨unk-LC⟩ ⟨unk⟩ ⟨unk-LC-NUM-DASH⟩"


def test_what_is_saved_is_read_whatever_the_kind(tmp_path: Path) -> None:
    symbols = trained()
    pieces = train_tokenizer(iter([(SENTENCES, TREES)]), vocabulary_size=300, kind="byte_pair", pretokenized=True)
    for tokenizer in (symbols, pieces):
        path = tmp_path / "tokenizer.json"
        tokenizer.save(path)
        read = load_tokenizer(path)
        assert type(read) is type(tokenizer)
        assert read.checksum == pickle.loads(pickle.dumps(tokenizer)).checksum == tokenizer.checksum
        assert read.encode_batch(SENTENCES) == tokenizer.encode_batch(SENTENCES)
    assert isinstance(pieces, SubwordTokenizer)


@pytest.mark.parametrize("text", ['{"kind": "symbols"}', '{"kind": "symbols", "version": 2}', "[", '{"version": 1}'])
def test_another_file_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"tokenizer\.json: not a tokenizer of this project"):
        load_tokenizer(path)


def test_every_symbol_is_a_word_of_its_own() -> None:
    tokenizer = trained()
    (ids,) = tokenizer.encode_batch(["the dog ."])
    units = word_units(tokenizer, [*ids, tokenizer.eos_id])
    assert units.labels == ["the", "dog", ".", "⟨eos⟩"]
    assert units.starts == [0, 1, 2, 3]
