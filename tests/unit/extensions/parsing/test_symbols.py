"""Whole symbols: target symbols are known, rare words are classified by their spelling."""

import pickle
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aiayn.data.units import token_units, word_units
from aiayn.data.vocabulary import load_tokenizer
from aiayn.errors import UserError
from aiayn.extensions.parsing.symbols import SymbolTokenizer, signature

SPECIAL = ["⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "⟨unk⟩", "⟨unk-LC⟩", "⟨unk-CAPS⟩", "<s>", "</s>", "<blank>", "<unk>"]
ODD = ["‿", "(", ")", "XX", "\0", "\x85", "\xa0", "\u2028", "\r", "\t"]
WORDS = st.sampled_from([*SPECIAL, *ODD]) | st.text(
    st.characters(exclude_characters=" \n", exclude_categories=["Cs"]), min_size=1, max_size=12
)
LINES = st.lists(WORDS, max_size=8).map(" ".join)
SENTENCES = ["the dog barks .", "the cat sleeps .", "the dog sees 1984", "walking Rex well-known walked U.S. 12-year"]
TREES = ["(S (NP XX XX )NP (VP XX )VP XX )S", "(S XX )S"]


def trained(size: int = 40) -> SymbolTokenizer:
    return SymbolTokenizer.train([(SENTENCES, TREES)], vocabulary_size=size)


@given(st.lists(LINES, min_size=1), st.lists(LINES, min_size=1), st.integers(0, 40))
@example(["⟨bos⟩ ⟨unk⟩ ⟨bos⟩ ⟨unk⟩"], ["⟨eos⟩ ⟨pad⟩", "⟨unk-LC⟩"], 40)
def test_targets_are_never_unknown_and_no_id_is_beyond_the_vocabulary(
    sources: list[str], targets: list[str], more: int
) -> None:
    symbols = {symbol for target in targets for symbol in target.split(" ") if symbol}
    size = 3 + len(symbols) + 1 + more
    tokenizer = SymbolTokenizer.train([(sources, targets)], vocabulary_size=size)
    assert tokenizer.vocabulary_size == len(set(tokenizer.pieces)) <= size
    for target, ids in zip(targets, tokenizer.encode_batch(targets), strict=True):
        assert tokenizer.decode(ids) == target
    for source, ids in zip(sources, tokenizer.encode_batch(sources), strict=True):
        assert len(ids) == len(list(filter(None, source.split(" "))))
        assert all(3 <= number < size for number in ids)
    with pytest.raises(UserError, match=rf"^tokenizer\.vocabulary_size={3 + len(symbols)} is too small "):
        SymbolTokenizer.train([(sources, targets)], vocabulary_size=3 + len(symbols))


@given(st.lists(LINES, max_size=4), st.booleans())
@example([], True)
def test_special_symbols_and_classes_are_not_read_from_text(lines: list[str], are_known: bool) -> None:
    """Whether text spells their names or their entries, and whether training text had these spellings."""
    unspoiled = trained()
    names = [*(piece.strip() for piece in unspoiled.pieces[:3]), *unspoiled.classes]
    spelled = " ".join([*names, *unspoiled.pieces[:9]])
    sources, targets = ([*SENTENCES, spelled, spelled], [*TREES, spelled]) if are_known else (SENTENCES, TREES)
    tokenizer = SymbolTokenizer.train([(sources, targets)], vocabulary_size=80)
    special, classes = set(tokenizer.pieces[:3]), {" " + name for name in tokenizer.classes}
    assert len(set(tokenizer.pieces)) == len(tokenizer.pieces)
    assert not (special | classes) & {*tokenizer.targets, *tokenizer.words}
    *encoded, ids = tokenizer.encode_batch([*lines, spelled])
    assert not {tokenizer.pieces[number] for each in encoded for number in each} & special
    read = {tokenizer.pieces[number] for number in ids}
    assert not read & (special | classes) if are_known else read <= classes
    if are_known:
        assert tokenizer.decode(ids) == " ".join(spelled.split())


def test_frequent_words_are_known_and_words_seen_once_are_classes() -> None:
    tokenizer = trained()
    assert set(tokenizer.words) == {".", "the", "dog"}
    assert tokenizer.words == tuple(
        sorted(tokenizer.words, key=lambda word: (-" ".join(SENTENCES).split().count(word), word))
    )
    (known, unknown) = tokenizer.encode_batch(["the dog", "the wolf"])
    assert known[0] == unknown[0]
    assert tokenizer.decode(unknown) == "the ⟨unk-LC⟩"


def test_smaller_vocabularies_have_the_most_frequent_words() -> None:
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


def test_a_class_unknown_in_training_falls_back_to_the_nearest() -> None:
    tokenizer = trained()
    assert "⟨unk-LC-ing⟩" in tokenizer.classes
    (ids,) = tokenizer.encode_batch(["talking swiftly … 7-fold"])
    assert tokenizer.decode(ids) == "⟨unk-LC-ing⟩ ⟨unk-LC⟩ ⟨unk⟩ ⟨unk-LC-NUM-DASH⟩"


def test_saving_and_loading_change_nothing(tmp_path: Path) -> None:
    odd = [" ".join([*SPECIAL, *ODD])]
    tokenizer = SymbolTokenizer.train([([*SENTENCES, *odd], [*TREES, *odd])], vocabulary_size=60)
    tokenizer.save(tmp_path / "tokenizer.json")
    read = load_tokenizer(tmp_path / "tokenizer.json")
    assert read.checksum == pickle.loads(pickle.dumps(tokenizer)).checksum == tokenizer.checksum
    assert read.encode_batch([*SENTENCES, *odd]) == tokenizer.encode_batch([*SENTENCES, *odd])
    assert read.decode_batch(read.encode_batch(odd)) == odd


def test_every_symbol_is_a_word_of_its_own() -> None:
    tokenizer = trained()
    (ids,) = tokenizer.encode_batch(["the dog ."])
    units = word_units(tokenizer, [*ids, tokenizer.eos_id])
    assert units.labels == ["the", "dog", ".", "⟨eos⟩"]
    assert units.starts == [0, 1, 2, 3]
    assert token_units(tokenizer, [tokenizer.bos_id, *ids]).labels == ["⟨bos⟩", "the", "dog", "."]
