"""Trees in the brackets of the Penn Treebank: `(S (NP (NNS dogs)) (VP (VBP bark)))`.

`SPACE` defines white space, so a word may contain a no-break space. Nothing is unescaped, and `( (S ...) )` has a root
with an empty label.

nltk's reader is not used: it splits words at no-break spaces, accepts text such as `(S (NN two words))` without an
error, and refuses trees deeper than 500, which a model may write.
"""

import re
from collections.abc import Iterable, Iterator

from aiayn.data.grammar.tree import SPACE, TEXT, Tree

# A preterminal as a whole, the most frequent node; an opening with its label; a closing; misplaced text.
_PART = re.compile(
    rf"\([{SPACE}]*(?P<tag>{TEXT}+)[{SPACE}]+(?P<word>{TEXT}+)[{SPACE}]*\)"
    rf"|\([{SPACE}]*(?P<label>{TEXT}*)|(?P<closing>\))|(?P<text>{TEXT}+)"
)

_BETWEEN_WORDS = re.compile(rf"[{SPACE}]+")


def read_tree(text: str) -> Tree:
    """Read one tree from text of one or several lines.

    Raises:
        ValueError: The text is not one tree; with line and column.
    """
    trees = list(_trees(text, first_line=1))
    if len(trees) != 1:
        raise ValueError(f"{len(trees)} trees where there must be one")
    return trees[0]


def read_trees(lines: Iterable[str]) -> Iterator[Tree]:
    """Yield the trees of a file; a line may have several, and a tree several lines, as in the Penn Treebank's `.mrg`.

    A bracket in the first column begins a new tree, so that a missing one is reported in its own tree.

    Raises:
        ValueError: Something is not a tree; with line and column from 1. Earlier trees have been yielded.
    """
    pending: list[str] = []
    num_open = 0
    number = 0
    for number, line in enumerate(lines, start=1):
        if pending and (num_open <= 0 or line.startswith("(")):
            yield from _trees("\n".join(pending), first_line=number - len(pending))
            pending, num_open = [], 0
        pending.append(line.removesuffix("\n"))
        num_open += line.count("(") - line.count(")")
    yield from _trees("\n".join(pending), first_line=number + 1 - len(pending))


def words_of_text(line: str) -> list[str]:
    """Split plain text at `SPACE`, and escape brackets as `-LRB-` and `-RRB-`."""
    return [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in _BETWEEN_WORDS.split(line) if word]


def _trees(text: str, *, first_line: int) -> Iterator[Tree]:
    """Yield the trees of a text whose first line has the given number."""
    open_ones: list[tuple[str, list[Tree]]] = []
    start = 0
    for part in _PART.finditer(text):
        label, word = part["label"], part["word"]
        if label is not None:
            start = start if open_ones else part.start()
            open_ones.append((label, []))
            continue
        if word is not None:
            tree = Tree(part["tag"], word=word)
        elif part["closing"] is None:
            fault = f"{part['text']!r} is not in brackets with a tag, as in (NN dog)"
            raise ValueError(_at(text, part.start(), first_line, fault))
        elif not open_ones:
            raise ValueError(_at(text, part.start(), first_line, "')' closes nothing"))
        else:
            label, children = open_ones.pop()
            if not children:
                raise ValueError(_at(text, part.start(), first_line, f"'({label}' is closed without a word in it"))
            tree = Tree(label, tuple(children))
        if open_ones:
            open_ones[-1][1].append(tree)
        else:
            yield tree
    if open_ones:
        missing = f"the tree that begins here lacks {len(open_ones)} ')' at its end"
        raise ValueError(_at(text, start, first_line, missing))


def _at(text: str, offset: int, first_line: int, fault: str) -> str:
    """Return an error message with line and column."""
    line = first_line + text.count("\n", 0, offset)
    column = offset - text.rfind("\n", 0, offset)
    return f"line {line}, column {column}: {fault}"
