"""The embedded corpora: their pairs and trees, splits and identities."""

import hashlib
import os
import subprocess
import sys
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.data.corpora.corpus import SPLITS, Corpus
from aiayn.data.grammar import english as grammar_english
from aiayn.data.grammar.corpora import GRAMMAR_VERSION, MAX_PAIRS, GrammarCorpus, sentence_pairs, trees
from aiayn.data.grammar.lexicon import ADJECTIVES, COLOURS, KINDS, VERBS
from aiayn.data.grammar.sampler import SentenceSampler
from aiayn.errors import UserError
from aiayn.extensions.parsing.normalization import normalize
from aiayn.extensions.parsing.toy_trees import MAX_TREES, TREES_VERSION, ToyTreesCorpus

PINNED = {
    1: "d5f126c746d3097848982fcc4b20ec3edff86ffc4983dec8d436f68148922e90",
}
"""SHA-256 of the first 2,000 pairs of seed "pin" by grammar version."""
PINNED_TREES = {
    (1, 1): "fe1f1b1b234613bc075ada14f0c1ae92838df612d126765ee600ef47fd1f5f25",
}
"""SHA-256 of the first 500 trees of seed "pin" by both versions."""


@given(st.integers(0, 10**9))
@settings(max_examples=60, deadline=None)
def test_sentences_are_well_formed(seed: int) -> None:
    for source, target in islice(sentence_pairs(str(seed)), 10):
        assert source.endswith("?") == target.endswith("?")
        for side in (source, target):
            assert 4 <= len(side.split()) <= 30
            assert side[0].isupper()
            assert side[-1] in ".?"
            assert not any(wrong in side for wrong in ("  ", " ,", ",,", ",.", ",?", " .", "\n"))
        for conjunction in ("weil", "obwohl", "dass", "bevor", "wenn", "ob"):
            position = target.find(f" {conjunction} ")
            assert position <= 0 or target[position - 1] == ","


def test_one_english_sentence_has_one_german_one() -> None:
    german: dict[str, str] = {}
    for source, target in islice(sentence_pairs("one to one"), 20_000):
        assert german.setdefault(source, target) == target


def test_the_language_is_rich_enough() -> None:
    lexemes = {id(lexeme) for lexemes in KINDS.values() for lexeme in lexemes}
    described = {id(each) for known in (ADJECTIVES, COLOURS) for adjectives in known.values() for each in adjectives}
    assert len(lexemes) + len(described) + len(VERBS) >= 340
    pairs = list(islice(sentence_pairs("rich"), 6000))
    for side in (0, 1):
        tokens = [word.strip(",.?").lower() for pair in pairs for word in pair[side].split()]
        assert len(set(tokens)) >= 1100
        assert 12 <= len(tokens) / len(pairs) <= 16


def test_a_changed_grammar_has_a_new_version() -> None:
    pairs = islice(sentence_pairs("pin"), 2000)
    digest = hashlib.sha256("\n".join(f"{source}\t{target}" for source, target in pairs).encode()).hexdigest()
    assert PINNED.get(GRAMMAR_VERSION) == digest, (
        "the sentences changed: raise GRAMMAR_VERSION and pin the new checksum, or undo the change"
    )


def sentence_of(words: tuple[str, ...]) -> str:
    """Join the words of a tree to a sentence."""
    text = " ".join(words)
    for mark in (" 's", " ,", " .", " ?"):
        text = text.replace(mark, mark[1:])
    return text.replace("can not ", "cannot ")


def test_a_tree_has_the_words_of_its_sentence() -> None:
    sampler = SentenceSampler("said")
    for sentence in (sampler.sentence() for _ in range(1500)):
        tree = grammar_english.parse(sentence)
        assert sentence_of(tree.words()) == grammar_english.realise(sentence)
        assert normalize(tree) == tree
        assert tree.label in ("S", "SQ", "SBARQ")


def test_trees_have_the_constituents_of_a_treebank() -> None:
    found = list(islice(trees("labels"), 600))
    labels = {span.label for tree in found for span in tree.spans()}
    assert labels >= {"S", "SBAR", "SBARQ", "SQ", "NP", "VP", "PP", "ADVP", "ADJP", "PRT", "WHNP", "WHADVP"}
    tags = {tag for tree in found for tag in tree.tags()}
    assert len(tags) >= 25
    assert max(len(tree.words()) for tree in found) > 20


def test_a_changed_tree_has_a_new_version() -> None:
    text = "\n".join(map(str, islice(trees("pin"), 500)))
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert PINNED_TREES.get((GRAMMAR_VERSION, TREES_VERSION)) == digest, (
        "the trees changed: raise TREES_VERSION (GRAMMAR_VERSION if sentences changed) and pin the new checksum"
    )


def test_splits_have_their_sizes_and_share_no_sentence() -> None:
    corpus: Corpus = GrammarCorpus(sentences=3000, dev_sentences=2000, test_sentences=1500, seed=3)
    rows = {split: list(corpus.rows(split)) for split in SPLITS}
    assert {split: len(of_split) for split, of_split in rows.items()} == {"train": 3000, "dev": 2000, "test": 1500}
    for sentences in zip(*(row for of_split in rows.values() for row in of_split), strict=True):
        assert len(set(sentences)) == len(sentences)
    drawn = [source for split in SPLITS for source, _ in islice(sentence_pairs(f"3/{split}"), len(rows[split]))]
    assert len(set(drawn)) < len(drawn), "nothing had to be left out, so this proves nothing"
    assert list(corpus.rows("train", start=2990)) == rows["train"][2990:]


def test_training_size_does_not_change_dev_and_test() -> None:
    def held_out(sentences: int, dev_sentences: int) -> list[list[tuple[str, ...]]]:
        corpus = GrammarCorpus(sentences=sentences, dev_sentences=dev_sentences, test_sentences=40, seed=5)
        return [list(corpus.rows("dev")), list(corpus.rows("test"))]

    assert held_out(10, 30) == held_out(300, 30)
    assert held_out(10, 60)[0][:30] == held_out(10, 30)[0]


def test_the_treebank_has_no_sentence_twice_and_test_stays_when_train_grows() -> None:
    small, large = (
        ToyTreesCorpus(sentences=number, dev_sentences=40, test_sentences=30, seed=1, tags=False) for number in (5, 300)
    )
    sentences = [source for split in SPLITS for source, *_ in large.rows(split)]
    assert len(sentences) == len(set(sentences)) == 370
    assert list(small.rows("test")) == list(large.rows("test"))
    assert small.identity != large.identity


def test_identity_stands_for_the_settings() -> None:
    settings_ = {"sentences": 10, "dev_sentences": 3, "test_sentences": 3, "seed": 1}
    varied = [settings_, *({**settings_, key: value + 1} for key, value in settings_.items())]
    assert len({GrammarCorpus(**each).identity for each in varied}) == len(varied)
    assert GrammarCorpus(**settings_).identity == GrammarCorpus(**settings_).identity


def test_pairs_are_the_same_in_every_process() -> None:
    imports = "from itertools import islice; from aiayn.data.grammar.corpora import sentence_pairs"
    program = f"{imports}; print([*islice(sentence_pairs('x'), 400)])"
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert printed == {f"{[*islice(sentence_pairs('x'), 400)]}\n".encode()}


def test_sizes_over_the_maximum_are_refused() -> None:
    with pytest.raises(UserError, match=rf"data\.sentences={MAX_PAIRS}.*{MAX_PAIRS} pairs"):
        GrammarCorpus(sentences=MAX_PAIRS, dev_sentences=1, test_sentences=1, seed=0)
    with pytest.raises(UserError, match=rf"data\.sentences={MAX_TREES}.*{MAX_TREES} trees"):
        ToyTreesCorpus(sentences=MAX_TREES, dev_sentences=1, test_sentences=1, seed=0, tags=False)
