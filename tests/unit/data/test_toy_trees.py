"""The embedded treebank: trees of the sentences that the grammar says."""

import hashlib
from itertools import islice

import pytest

from aiayn.data.corpora.corpus import SPLITS, Corpus
from aiayn.data.grammar import english as grammar_english
from aiayn.data.grammar.corpus import GRAMMAR_VERSION
from aiayn.data.grammar.sampler import SentenceSampler
from aiayn.data.grammar.toy_trees import TREES_VERSION, ToyTreesCorpus, trees
from aiayn.errors import UserError
from aiayn.trees.normalization import normalize
from aiayn.trees.reading import write_tree

PINNED = {
    (1, 1): "fe1f1b1b234613bc075ada14f0c1ae92838df612d126765ee600ef47fd1f5f25",
}
"""SHA-256 of the first 500 trees of seed "pin" by both versions."""


def said(words: tuple[str, ...]) -> str:
    """Words of a tree as the sentence is written."""
    text = " ".join(words)
    for mark in (" 's", " ,", " .", " ?"):
        text = text.replace(mark, mark[1:])
    return text.replace("can not ", "cannot ")


def test_a_tree_is_of_the_sentence_that_is_said() -> None:
    sampler = SentenceSampler("said")
    for sentence in (sampler.sentence() for _ in range(1500)):
        tree = grammar_english.parse(sentence)
        assert said(tree.words()) == grammar_english.realise(sentence)
        assert normalize(tree) == tree
        assert tree.label in ("S", "SQ", "SBARQ")


def test_the_language_has_the_constituents_of_a_treebank() -> None:
    found = list(islice(trees("labels"), 600))
    labels = {span.label for tree in found for span in tree.spans()}
    assert labels >= {"S", "SBAR", "SBARQ", "SQ", "NP", "VP", "PP", "ADVP", "ADJP", "PRT", "WHNP", "WHADVP"}
    tags = {tag for tree in found for tag in tree.tags()}
    assert len(tags) >= 25
    assert max(len(tree.words()) for tree in found) > 20


def test_a_changed_tree_has_a_new_version() -> None:
    text = "\n".join(map(write_tree, islice(trees("pin"), 500)))
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert PINNED.get((GRAMMAR_VERSION, TREES_VERSION)) == digest, (
        "raise TREES_VERSION (GRAMMAR_VERSION where sentences change) and pin the new digest beside the old one"
    )


def test_no_sentence_is_in_two_splits_or_twice_in_one() -> None:
    corpus: Corpus = ToyTreesCorpus(sentences=300, dev_sentences=40, test_sentences=30, seed=1, tags=False)
    sentences = [source for split in SPLITS for source in corpus.split(split)["source"]]
    assert len(sentences) == len(set(sentences)) == 370


def test_dev_and_test_stay_when_train_grows() -> None:
    small, large = (
        ToyTreesCorpus(sentences=number, dev_sentences=9, test_sentences=9, seed=1, tags=False) for number in (5, 50)
    )
    assert small.split("test")["tree"][:] == large.split("test")["tree"][:]
    assert small.identity != large.identity


@pytest.mark.parametrize(("sizes", "message"), [((0, 1, 1), "data.sentences=0"), ((10**6, 1, 1), "more than 200000")])
def test_sizes_out_of_range_are_refused(sizes: tuple[int, int, int], message: str) -> None:
    sentences, dev, test = sizes
    with pytest.raises(UserError, match=message):
        ToyTreesCorpus(sentences=sentences, dev_sentences=dev, test_sentences=test, seed=1, tags=False)
