import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import SPACE, TREES

from aiayn.data.grammar.tree import Tree
from aiayn.extensions.parsing.reading import read_tree, read_trees, words_of_text

MRG = """
( (S
    (NP-SBJ (PRP It) )
    (VP (VBZ works)
      (, ,) )
    (. .) ))
( (FRAG (NN Yes)
    ))
"""


@given(TREES)
def test_a_written_tree_is_one_line_and_read_unchanged(tree: Tree) -> None:
    assert read_tree(str(tree)) == tree
    assert str(tree).splitlines() == [str(tree)]


@pytest.mark.parametrize("space", SPACE)
def test_white_space_is_in_no_word_or_label(space: str) -> None:
    with pytest.raises(ValueError, match="within 'a"):
        Tree(f"a{space}b", word="c")
    with pytest.raises(ValueError, match="is not in brackets with a tag"):
        read_tree(f"(NN a{space}b)")


@given(st.lists(TREES, max_size=4))
def test_files_with_one_tree_a_line_are_read_unchanged(trees: list[Tree]) -> None:
    assert list(read_trees(map(str, trees))) == trees


@given(st.lists(TREES, max_size=4), st.data())
def test_white_space_and_line_breaks_between_parts_do_not_matter(trees: list[Tree], data: st.DataObject) -> None:
    space = st.sampled_from([*SPACE.replace("\n", ""), "\n ", "\n\n  "])
    lines = []
    for tree in trees:
        parts = re.split(" ", str(tree).replace(")", " ) "))
        text = "".join(part + data.draw(space) for part in parts)
        lines += text.split("\n")
    assert list(read_trees(lines)) == trees
    assert list(read_trees(f"{line}\n" for line in lines)) == trees


def test_trees_of_the_penn_treebank_keep_their_empty_root() -> None:
    trees = list(read_trees(MRG.split("\n")))
    assert [tree.label for tree in trees] == ["", ""]
    assert str(trees[0]) == "( (S (NP-SBJ (PRP It)) (VP (VBZ works) (, ,)) (. .)))"
    assert [tree.words() for tree in trees] == [("It", "works", ",", "."), ("Yes",)]


def test_several_trees_may_share_a_line() -> None:
    assert [tree.words() for tree in read_trees(["(A a) (B b) (S", " (C c))"])] == [("a",), ("b",), ("c",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN dog)", r"line 1, column 1: the tree that begins here lacks 1 '\)'"),
        ("(S (NN dog)))", r"line 1, column 13: '\)' closes nothing"),
        ("(S\n (NN two dogs))", "line 2, column 6: 'two' is not in brackets with a tag"),
        ("(S (NN dog) barks)", "line 1, column 13: 'barks' is not"),
        ("dog", "line 1, column 1: 'dog' is not"),
        ("(S (NP) (NN dog))", r"line 1, column 7: '\(NP' is closed without a word"),
        ("()", r"line 1, column 2: '\(' is closed"),
        ("(S", "line 1, column 1: the tree that begins here"),
        ("", "0 trees"),
        ("(NN dog) (NN cat)", "2 trees"),
    ],
)
def test_invalid_text_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        read_tree(text)


def test_a_missing_bracket_is_reported_in_its_line() -> None:
    read: list[Tree] = []
    with pytest.raises(ValueError, match=r"^line 3, column 1: the tree that begins here lacks 1"):
        read.extend(read_trees(["(A a)", "", "(S (B b)", "(C c)", "(D d))"]))
    assert read == [Tree("A", word="a")]


@given(TREES, st.data())
def test_a_missing_bracket_is_an_error(tree: Tree, data: st.DataObject) -> None:
    text = str(tree)
    places = [index for index, character in enumerate(text) if character in "()"]
    place = data.draw(st.sampled_from(places))
    with pytest.raises(ValueError, match="line 1, column"):
        read_tree(text[:place] + text[place + 1 :])


def test_words_of_text_are_escaped() -> None:
    assert words_of_text(" ( :) [dog]\t") == ["-LRB-", ":-RRB-", "[dog]"]
    assert words_of_text("12\u00a0000\u2028euros\x85\x1d!") == ["12\u00a0000", "euros", "!"]


@given(st.text())
def test_words_of_any_text_are_those_of_a_tree_on_one_line(text: str) -> None:
    words = words_of_text(text)
    if words:
        tree = Tree("S", tuple(Tree("XX", word=word) for word in words))
        line = str(tree)
        assert len(line.splitlines()) == 1
        assert read_tree(line) == tree
    assert [word.replace("-LRB-", "(").replace("-RRB-", ")") for word in words] == words_as_written(text)


def words_as_written(text: str) -> list[str]:
    """Split at Unicode's line ends, then at ASCII's white space, which is all that bytes know; -LRB- is a bracket."""
    words = [
        word.decode("utf-8", "surrogatepass")
        for word in b" ".join(line.encode("utf-8", "surrogatepass") for line in text.splitlines()).split()
    ]
    return [word.replace("-LRB-", "(").replace("-RRB-", ")") for word in words]
