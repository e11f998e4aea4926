import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tree_strategies import LABELS, TAGS, TREES, WORDS

from aiayn.data.grammar.tree import Tree
from aiayn.extensions.parsing.linearization import linearize
from aiayn.extensions.parsing.reading import read_tree
from aiayn.extensions.parsing.repair import is_well_formed, repair

FEW = st.sampled_from(["S", "NP", ""])
TOKENS = st.one_of(FEW.map("(".__add__), FEW.map(")".__add__), st.just("XX"), TAGS, LABELS.map("(".__add__), st.text())


@given(st.lists(TOKENS, max_size=30), st.lists(WORDS, min_size=1, max_size=8))
@example(["(", ")", "(S", ")S"], ["a"])
@example(["(S", "(NP", "XX", ")S"], ["a", "b"])
def test_any_tokens_give_a_tree_over_the_words_and_repair_is_idempotent(tokens: list[str], words: list[str]) -> None:
    tree = repair(tokens, words)
    assert tree.words() == tuple(words)
    repaired = linearize(tree, tags=True)
    assert is_well_formed(repaired, len(words))
    assert repair(repaired, words) == tree
    if is_well_formed(tokens, len(words)):
        assert repaired == tuple(tokens)


@given(TREES, st.booleans())
def test_well_formed_tokens_are_unchanged(tree: Tree, tags: bool) -> None:
    tokens = linearize(tree, tags=tags)
    assert is_well_formed(tokens, len(tree.words()))
    assert linearize(repair(tokens, tree.words()), tags=tags) == tokens


@given(TREES, st.lists(TOKENS, max_size=5))
def test_tokens_after_the_last_word_are_ignored(tree: Tree, anything: list[str]) -> None:
    tokens = linearize(tree, tags=True)
    last = max(index for index, token in enumerate(tokens) if token[0] not in "()")
    assert repair([*tokens[: last + 1], *anything], tree.words()) == tree


@given(TREES, LABELS, st.data())
def test_empty_constituents_and_unmatched_closings_are_dropped(tree: Tree, label: str, data: st.DataObject) -> None:
    tokens = list(linearize(tree, tags=True))
    place = data.draw(st.integers(0, len(tokens)))
    assert repair([*tokens[:place], f"({label}", f"){label}", *tokens[place:]], tree.words()) == tree
    assert repair([*tokens[:place], ")a label that no tree has", *tokens[place:]], tree.words()) == tree
    assert repair([*tokens[:place], ")not/open", *tokens[place:]], tree.words()) == tree


@pytest.mark.parametrize(
    ("tokens", "tree"),
    [
        # A closing is missing: that of the constituent around it closes both.
        ("(S (NP XX XX (VP XX )VP )S", "(S (NP (XX a) (XX b) (VP (XX c))))"),
        ("(S (NP XX (PP XX )NP XX )S", "(S (NP (XX a) (PP (XX b))) (XX c))"),
        # A closing has another label than what it should close.
        ("(S (NP XX XX )VP XX )S", "(S (NP (XX a) (XX b) (XX c)))"),
        # The outermost constituent is closed too early, or words are missing.
        ("(S (NP XX )S XX XX )S", "(S (NP (XX a)) (XX b) (XX c))"),
        ("(S (NP XX )NP )S", "(S (NP (XX a)) (XX b) (XX c))"),
        ("(S (NP XX )NP (VP XX", "(S (NP (XX a)) (VP (XX b) (XX c)))"),
        # Words are too many.
        ("(S XX XX XX (NP XX )NP XX )S", "(S (XX a) (XX b) (XX c))"),
        # No bracket, or none before the first word.
        ("", "(TOP (XX a) (XX b) (XX c))"),
        ("DT (NP NN )NP VB", "(TOP (DT a) (NP (NN b) (VB c)))"),
        ("(NP )NP (S XX XX XX )S", "(S (XX a) (XX b) (XX c))"),
    ],
)
def test_repairs_of_examples(tokens: str, tree: str) -> None:
    assert repair(tokens.split(), ["a", "b", "c"]) == read_tree(tree)


def test_trees_need_words() -> None:
    assert not is_well_formed([], 0)
    with pytest.raises(ValueError, match="no words"):
        repair(["XX"], [])
