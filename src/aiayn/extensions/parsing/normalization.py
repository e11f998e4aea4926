"""Normalisation of treebank trees for training and scoring parsers.

As in EVALB and parsers of the Penn Treebank, three things are removed: function tags and indices (`NP-SBJ-1` and `NP=2`
become `NP`), traces and other empty nodes (`(NP-SBJ (-NONE- *T*-1))`), and the root (`TOP`, `ROOT`, `S1` or an empty
label). All else stays: words, tags, order, alternatives (`ADVP|PRT`), and unary chains, also of equal labels.
"""

import re

from aiayn.data.grammar.tree import Tree

ROOT = "TOP"
"""Label of a root with several children, which must stay; EVALB does not score it."""

_ROOTS = frozenset({ROOT, "ROOT", "S1", ""})
_EMPTY = "-NONE-"
_FUNCTION = re.compile(r"(?<=.)[-=].*", re.DOTALL)


def normalize(tree: Tree) -> Tree | None:
    """Remove function tags, indices, traces, empty nodes and root; None if no word is left. Idempotent."""
    unfinished: list[list[Tree]] = [[]]
    for node, opens in tree.walk():
        if node.word is not None:
            if node.label != _EMPTY:
                unfinished[-1].append(Tree(strip_function(node.label), word=node.word))
        elif opens:
            unfinished.append([])
        elif children := unfinished.pop():
            unfinished[-1].append(Tree(strip_function(node.label), tuple(children)))
    return _without_root(*unfinished[0]) if unfinished[0] else None


def strip_function(label: str) -> str:
    """Return `NP` for `NP-SBJ-1`; labels that begin with a dash, such as `-LRB-`, have no function."""
    return label if label.startswith("-") else _FUNCTION.sub("", label)


def _without_root(tree: Tree) -> Tree:
    while tree.label in _ROOTS and len(tree.children) == 1:
        tree = tree.children[0]
    return Tree(ROOT, tree.children) if tree.label in _ROOTS and tree.children else tree
