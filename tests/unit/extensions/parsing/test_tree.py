import pytest
from hypothesis import given
from tree_strategies import TREES

from aiayn.data.grammar.tree import Span, Tree

DOGS = Tree("NP", (Tree("NNS", word="dogs"),))
BARK = Tree("VP", (Tree("VBP", word="bark"), Tree("ADVP", (Tree("RB", word="loudly"),))))
SENTENCE = Tree("S", (DOGS, BARK))


def test_words_and_tags_come_from_left_to_right() -> None:
    assert SENTENCE.words() == ("dogs", "bark", "loudly")
    assert SENTENCE.tags() == ("NNS", "VBP", "RB")


def test_spans_are_those_of_the_inner_nodes_in_pre_order() -> None:
    assert list(SENTENCE.spans()) == [Span("S", 0, 3), Span("NP", 0, 1), Span("VP", 1, 3), Span("ADVP", 2, 3)]


@given(TREES)
def test_a_constituent_spans_the_words_below_it(tree: Tree) -> None:
    words = tree.words()
    inner = [node for node, opens in tree.walk() if opens and node.children]
    for node, span in zip(inner[-20:], list(tree.spans())[-20:], strict=True):
        assert (span.label, words[span.start : span.end]) == (node.label, node.words())


@given(TREES)
def test_inner_nodes_close_after_their_descendants(tree: Tree) -> None:
    open_ones: list[Tree] = []
    for node, opens in tree.walk():
        if not opens:
            assert open_ones.pop() is node
        elif node.children:
            open_ones.append(node)
    assert not open_ones


@given(TREES, TREES)
def test_trees_are_equal_where_label_word_and_children_are(left: Tree, right: Tree) -> None:
    same = (left.label, left.word, left.children) == (right.label, right.word, right.children)
    assert (left == right) is same
    assert len({left, right, left}) == 2 - same


def test_equality_sees_shape_and_not_words_alone() -> None:
    a, b = Tree("X", word="a"), Tree("X", word="b")
    assert Tree("X", (Tree("X", (a,)), b)) != Tree("X", (Tree("X", (a, b)),))
    assert a != "(X a)"


@pytest.mark.parametrize(
    ("label", "children", "word"),
    [
        ("NP", (), None),
        ("NP", (DOGS,), "dogs"),
        ("", (), "dogs"),
        ("NN", (), ""),
        ("NN", (), "("),
        ("NN", (), "two words"),
        ("N)", (), "dog"),
        ("N P", (DOGS,), None),
    ],
)
def test_invalid_trees_are_refused(label: str, children: tuple[Tree, ...], word: str | None) -> None:
    with pytest.raises(ValueError, match=r"must|write brackets"):
        Tree(label, children, word)
