"""A constituency tree over the words of a sentence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

SPACE = r" \t\n\r\f\v\x1c-\x1e\x85\u2028\u2029"
"""What is white space, as in a class of a regular expression: ASCII's, and what ends lines in Unicode."""
TEXT = rf"[^(){SPACE}]"
"""What labels and words are made of, as a regular expression."""
_UNWRITABLE = re.compile(rf"[(){SPACE}]")

# Nothing here recurses: a tree may be deeper than Python's stack, where a model has written it.


@dataclass(frozen=True, slots=True)
class Span:
    """A constituent: the words of a sentence from `start`, counted from 0, up to and without `end`."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A preterminal, which has a word, or an inner node, which has children.

    Words and labels are those of a treebank, in which brackets are written `-LRB-` and `-RRB-`: what has no bracket
    and no white space of ASCII or end of line of Unicode. Other white space, as a no-break space, is a part of a word.

    Raises:
        ValueError: a node with neither word nor children, or with both; a tag or word that is empty; a bracket or
            white space in a label or word.
    """

    label: str
    """Of a preterminal, its tag; that of an inner node may be empty, as at the root of trees of the Penn Treebank."""
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
        """Yield the nodes from left to right: inner ones twice, True where they open and False where they close.

        Preterminals come once, with True.
        """
        pending = [(self, True)]
        while pending:
            node, opens = pending.pop()
            yield node, opens
            if opens and node.children:
                pending.append((node, False))
                pending.extend((child, True) for child in reversed(node.children))

    def preterminals(self) -> Iterator[Self]:
        """Yield the nodes that have a word, from left to right."""
        return (node for node, _ in self.walk() if node.word is not None)

    def words(self) -> tuple[str, ...]:
        """The sentence."""
        return tuple(node.word for node in self.preterminals() if node.word is not None)

    def tags(self) -> tuple[str, ...]:
        """The label above each word."""
        return tuple(node.label for node in self.preterminals())

    def spans(self) -> Iterator[Span]:
        """Yield the constituents, which are the inner nodes, in pre-order."""
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
        return iter(spans)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self is other or self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

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

    def _content(self) -> tuple[tuple[str, str | None, int], ...]:
        """What two trees that are the same have in common, without trees in it."""
        return tuple((node.label, node.word, len(node.children)) for node, opens in self.walk() if opens)
