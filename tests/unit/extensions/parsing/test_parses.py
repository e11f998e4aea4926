"""Whatever a model writes becomes trees over the words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import TREES

from aiayn.data.grammar.tree import Tree
from aiayn.data.lines import one_line
from aiayn.extensions.parsing.parses import parses
from aiayn.extensions.parsing.symbols import SymbolTokenizer
from aiayn.extensions.parsing.treebank import row

SENTENCES = st.lists(st.sampled_from(["dogs", "bark", "-LRB-", "a\u00a0b"]), min_size=1, max_size=5).map(" ".join)
OUTPUTS = st.lists(st.sampled_from(["(S", ")S", "(NP", ")NP", "XX", "NN", "dogs", "("]), max_size=9).map(" ".join)


@given(st.lists(st.tuples(SENTENCES, OUTPUTS), max_size=5), st.booleans())
def test_every_output_is_a_tree_over_its_words(texts: list[tuple[str, str]], tags: bool) -> None:
    found = parses([source for source, _ in texts], [output for _, output in texts], tags=tags)
    assert [" ".join(tree.words()) for tree in found.trees] == [source for source, _ in texts]
    assert 0 <= found.well_formed_rate <= 100


@given(st.lists(TREES, min_size=1, max_size=4), st.booleans())
def test_the_symbols_of_a_tree_give_it_back_whatever_they_are(trees: list[Tree], tags: bool) -> None:
    """From a vocabulary's ids to a line of the file of outputs, and back to trees."""
    sources, targets, _ = (list(column) for column in zip(*(row(tree, tags=tags) for tree in trees), strict=True))
    tokenizer = SymbolTokenizer.train([(sources, targets)], vocabulary_size=200)
    outputs = [one_line(tokenizer.decode(ids)) for ids in tokenizer.encode_batch(targets)]
    found = parses(sources, outputs, tags=tags)
    assert found.well_formed == len(trees)
    assert [tree.words() for tree in found.trees] == [tree.words() for tree in trees]
    assert not tags or list(found.trees) == trees
    kinds = [*(number for pair in tokenizer.brackets for number in pair), *tokenizer.words_of_trees]
    assert sorted([*kinds, tokenizer.eos_id]) == sorted({*kinds, tokenizer.eos_id}), "no symbol is of two kinds"


@pytest.mark.parametrize(
    ("output", "tags", "well_formed", "tree"),
    [
        ("(S (NP XX )NP XX )S", False, 1, "(S (NP (XX dogs)) (XX bark))"),
        ("(S (NP NN )NP VB )S", True, 1, "(S (NP (NN dogs)) (VB bark))"),
        ("(S (NP NN )NP VB )S", False, 0, "(S (NP (XX dogs)) (XX bark))"),
        ("(S (NP XX )NP XX", False, 0, "(S (NP (XX dogs)) (XX bark))"),
    ],
)
def test_what_is_not_a_symbol_of_the_target_is_no_tag(output: str, tags: bool, well_formed: int, tree: str) -> None:
    found = parses(["dogs bark"], [output], tags=tags)
    assert (found.well_formed, [str(each) for each in found.trees]) == (well_formed, [tree])
