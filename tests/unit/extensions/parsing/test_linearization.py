import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import TREES

from aiayn.data.grammar.tree import Tree
from aiayn.extensions.parsing.linearization import delinearize, linearize
from aiayn.extensions.parsing.reading import read_tree


def without_tags(tree: Tree) -> list[tuple[str, str | None, int]]:
    """The tree as a list of its nodes in which every tag is the same."""
    nodes = [node for node, opens in tree.walk() if opens]
    return [("" if node.word is not None else node.label, node.word, len(node.children)) for node in nodes]


def test_tokens_are_those_of_the_paper() -> None:
    tree = read_tree("(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))")
    assert " ".join(linearize(tree, tags=False)) == "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S"
    assert " ".join(linearize(tree, tags=True)) == "(S (NP NNP )NP (VP VBZ (NP DT NN )NP )VP . )S"


@given(TREES)
def test_with_tags_linearization_is_lossless(tree: Tree) -> None:
    assert delinearize(linearize(tree, tags=True), tree.words()) == tree


@given(TREES)
def test_without_tags_linearization_loses_the_tags_only(tree: Tree) -> None:
    again = delinearize(linearize(tree, tags=False), tree.words())
    assert without_tags(again) == without_tags(tree)
    assert set(again.tags()) == {"XX"}


@given(TREES, st.booleans())
def test_tokens_contain_no_spaces(tree: Tree, tags: bool) -> None:
    tokens = linearize(tree, tags=tags)
    assert tuple(" ".join(tokens).split(" ")) == tokens


@pytest.mark.parametrize(
    ("tokens", "num_words", "message"),
    [
        ("(S XX )S", 2, "1 words where there are 2"),
        ("(S XX XX )S", 1, "'XX' would be word 2 of 1"),
        ("(S XX )NP", 1, r"'\)NP' closes no constituent"),
        ("(S XX )S )S", 1, r"'\)S' closes no constituent"),
        ("(S (NP XX )NP", 1, r"'\(S' is never closed"),
        ("(S XX )S (S XX )S", 2, "2 trees"),
        ("XX XX", 2, "2 trees"),
        ("", 0, "0 trees"),
        ("(S (NP )NP XX )S", 1, "must have a word or children"),
        ("(S X) )S", 1, "write brackets as"),
    ],
)
def test_invalid_tokens_are_refused(tokens: str, num_words: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        delinearize(tokens.split(), ["dog"] * num_words)
