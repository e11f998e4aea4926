"""Treebank trees made what parsers are trained and scored on.

Three things of a treebank are left out, as EVALB and the parsers of the Penn Treebank leave them out: function tags and
indices (`NP-SBJ-1` and `NP=2` are `NP`), traces and other empty nodes (`(NP-SBJ (-NONE- *T*-1))`), and the root that
only says that a tree begins (`TOP`, `ROOT`, `S1` or an empty label). Nothing else is lost: words, their tags,
constituents in their order, alternatives (`ADVP|PRT`), and unary chains, those of a label over itself too.

GUM, as all of its 13,263 trees are: one a line, each under `ROOT` with one child, which in 22 trees is a word; function
tags, up to two of them (`PP-LOC-PRD`), at times where the Penn Treebank has none (`VP-SBJ`); no trace, no empty node,
no index, no empty label; 274 nodes over an only child of the same label, once function tags are off. Tags are those of
OntoNotes (`HYPH`, `GW`). Round brackets are escaped within words too (`Spouse-LRB-s-RRB-`, `:-RRB-`); square ones have
the tags `-LRB-` and `-RRB-` and are written as they are. Words hold no white space.
"""

import re

from aiayn.trees.tree import Tree

ROOT = "TOP"
"""The label of a root that has to stay, for it has several children; EVALB scores no constituent of this label."""

_ROOTS = frozenset({ROOT, "ROOT", "S1", ""})
_EMPTY = "-NONE-"
_FUNCTION = re.compile(r"(?<=.)[-=].*", re.DOTALL)


def normalize(tree: Tree) -> Tree | None:
    """The tree without function tags, indices, traces, empty nodes and root, or None where no word is left.

    Of a tree that is normalised, the same tree comes back.
    """
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
    """`NP` of `NP-SBJ-1`. A label that begins with the dash, such as `-LRB-`, is none with a function."""
    return label if label.startswith("-") else _FUNCTION.sub("", label)


def _without_root(tree: Tree) -> Tree:
    while tree.label in _ROOTS and len(tree.children) == 1:
        tree = tree.children[0]
    return Tree(ROOT, tree.children) if tree.label in _ROOTS and tree.children else tree
