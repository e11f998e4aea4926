"""Constituency trees."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

SPACE = r" \t\n\r\f\v\x1c-\x1e\x85\u2028\u2029"
"""White space as a regular-expression class: that of ASCII, and Unicode's line ends."""
TEXT = rf"[^(){SPACE}]"
"""Characters of labels and words, as a regular expression."""
_UNWRITABLE = re.compile(rf"[(){SPACE}]")

# No function recurses: a tree written by a model may be deeper than Python's stack.


@dataclass(frozen=True, slots=True)
class Span:
    """A constituent over the words from `start` (inclusive, from 0) to `end` (exclusive)."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A preterminal, which has a word, or an inner node, which has children.

    Labels and words contain no bracket (written `-LRB-` and `-RRB-`) and no `SPACE`; a no-break space may be in a word.

    Raises:
        ValueError: A node has neither word nor children, or both; a tag or word is empty; a label or word contains a
            bracket or white space.
    """

    label: str
    """The tag of a preterminal; empty for some inner nodes, such as the root in the Penn Treebank."""
    children: tuple[Self, ...] = ()
    word: str | None = None

    def __post_init__(self) -> None:
        if (self.word is None) != bool(self.children):
            raise ValueError(f"a node {self.label!r} must have a word or children, and not both")
        if self.word is not None and not (self.word and self.label):
            raise ValueError(f"a tag and its word must not be empty: {self.label!r}, {self.word!r}")
        if unwritable := _UNWRITABLE.search(self.label) or _UNWRITABLE.search(self.word or ""):
            raise ValueError(f"{unwritable[0]!r} within {unwritable.string!r}: write brackets as -LRB- and -RRB-")

    def walk(self) -> Iterator[tuple[Self, bool]]:
        """Yield the nodes from left to right: preterminals with True, inner ones with True and, at their end, False."""
        pending = [(self, True)]
        while pending:
            node, opens = pending.pop()
            yield node, opens
            if opens and node.children:
                pending.append((node, False))
                pending.extend((child, True) for child in reversed(node.children))

    def preterminals(self) -> Iterator[Self]:
        """Yield the preterminals from left to right."""
        return (node for node, _ in self.walk() if node.word is not None)

    def words(self) -> tuple[str, ...]:
        """Return the words of the sentence."""
        return tuple(node.word for node in self.preterminals() if node.word is not None)

    def tags(self) -> tuple[str, ...]:
        """Return the tag of each word."""
        return tuple(node.label for node in self.preterminals())

    def spans(self) -> list[Span]:
        """Return the constituents (inner nodes) in pre-order."""
        spans: list[Span] = []
        open_ones: list[int] = []
        num_words = 0
        for node, opens in self.walk():
            if node.word is not None:
                num_words += 1
            elif opens:
                open_ones.append(len(spans))
                spans.append(Span(node.label, num_words, num_words))
            else:
                index = open_ones.pop()
                spans[index] = Span(node.label, spans[index].start, num_words)
        return spans

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        parts = []
        for node, opens in self.walk():
            if not opens:
                parts.append(")")
            elif node.word is None:
                parts.append(f" ({node.label}")
            else:
                parts.append(f" ({node.label} {node.word})")
        return "".join(parts)[1:]

    def __repr__(self) -> str:
        return f"<Tree {self}>"
