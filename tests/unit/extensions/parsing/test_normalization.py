import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import TREES, WORDS

from aiayn.data.grammar.tree import Tree
from aiayn.extensions.parsing.normalization import normalize, strip_function
from aiayn.extensions.parsing.reading import read_tree


@pytest.mark.parametrize(
    ("written", "normalized"),
    [
        ("( (S (NP-SBJ-1 (PRP It)) (VP (VBZ works))))", "(S (NP (PRP It)) (VP (VBZ works)))"),
        ("(S (NP=2 (NN dog)) (PP-LOC-PRD=3 (IN on)))", "(S (NP (NN dog)) (PP (IN on)))"),
        ("(TOP (NP (-LRB- -LRB-) (NN a) (-RRB- -RRB-)))", "(NP (-LRB- -LRB-) (NN a) (-RRB- -RRB-))"),
        ("(S (NP-SBJ (-NONE- *)) (VP (TO to) (NP (-NONE- *T*-1))))", "(S (VP (TO to)))"),
        ("(S1 (X (ADVP|PRT (RB up)) (PRP$ its)))", "(X (ADVP|PRT (RB up)) (PRP$ its))"),
        ("(ROOT (NN Introduction))", "(NN Introduction)"),
        ("( (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))"),
        ("( (S (NN a)) (NP (-NONE- 0)))", "(S (NN a))"),
        ("(NP-SBJ (NP (NN dog)))", "(NP (NP (NN dog)))"),
        ("( (TOP (S (TOP (NN a)) (. .))))", "(S (TOP (NN a)) (. .))"),
    ],
)
def test_normalization_of_examples(written: str, normalized: str) -> None:
    tree = normalize(read_tree(written))
    assert tree is not None
    assert str(tree) == normalized


@given(TREES)
def test_normalization_is_idempotent(tree: Tree) -> None:
    normalized = normalize(tree)
    assert normalized is None or normalize(normalized) == normalized


@given(TREES)
def test_words_and_tags_stay_except_empty_nodes(tree: Tree) -> None:
    normalized = normalize(tree)
    kept = [node for node in tree.preterminals() if node.label != "-NONE-"]
    assert (normalized is None) is (not kept)
    if normalized is not None:
        assert normalized.words() == tuple(node.word for node in kept)
        assert normalized.tags() == tuple(strip_function(node.label) for node in kept)


@given(TREES, WORDS, st.data())
def test_empty_nodes_anywhere_change_nothing(tree: Tree, word: str, data: st.DataObject) -> None:
    empty = data.draw(
        st.sampled_from(["(-NONE- *)", "(NP-SBJ-2 (-NONE- *T*-1))", "(S (NP (-NONE- 0)) (VP (-NONE- *?*)))"])
    )
    around = Tree("S", (Tree("NP", (read_tree(empty), tree)), Tree("NN", word=word)))
    assert normalize(around) == normalize(Tree("S", (Tree("NP", (tree,)), Tree("NN", word=word))))


def test_a_tree_of_empty_nodes_alone_is_none() -> None:
    assert normalize(read_tree("( (S (NP (-NONE- *)) (VP (-NONE- *?*))))")) is None
