"""Reading, normalisation, linearisation and repair of deep trees and of a real treebank."""

import gzip
from pathlib import Path

import pytest
from tree_strategies import chain

from aiayn.data.grammar.tree import Tree
from aiayn.extensions.parsing.linearization import delinearize, linearize
from aiayn.extensions.parsing.normalization import ROOT, normalize, strip_function
from aiayn.extensions.parsing.reading import read_tree, read_trees
from aiayn.extensions.parsing.repair import repair


def test_trees_may_be_deeper_than_the_stack() -> None:
    deep, again = (chain(Tree("S", (Tree("NN", word="dog"), Tree("VB", word="barks"))), "NP", 2_000) for _ in range(2))
    assert deep == again
    assert hash(deep) == hash(again)
    assert len(deep.spans()) == 2_001
    assert read_tree(str(deep)) == normalize(Tree("ROOT", (deep,))) == deep
    tokens = linearize(deep, tags=True)
    assert delinearize(tokens, deep.words()) == deep
    for cut in (None, -1_500):
        assert repair(tokens[:cut], deep.words()) == deep


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_treebank_passes_unchanged(split: str, aiayn_data: Path) -> None:
    path = aiayn_data / "trees" / "gum" / f"{split}.ptb.gz"
    lines = gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")
    trees = list(read_trees(lines))
    assert [str(tree) for tree in trees] == lines
    for tree in trees:
        normalized = normalize(tree)
        assert normalized is not None
        assert normalized.label != ROOT
        words, tokens = tree.words(), linearize(normalized, tags=False)
        assert (normalized.words(), normalized.tags()) == (words, tree.tags())
        labels = [strip_function(node.label) for node, opens in tree.walk() if opens][1:]
        assert labels == [node.label for node, opens in normalized.walk() if opens]
        assert {label for label in labels if "-" in label} <= {"-LRB-", "-RRB-"}
        assert delinearize(linearize(normalized, tags=True), words) == normalized
        assert linearize(delinearize(tokens, words), tags=False) == tokens
