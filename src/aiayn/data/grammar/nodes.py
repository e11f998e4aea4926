"""Constituents of the embedded corpus's English, in the labels of the Penn Treebank.

A node is a label with its children, or a tag with its word. Plain tuples: a corpus has half a million of them, most of
which are only joined to sentences.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Node: TypeAlias = "tuple[str, str | list[Node]]"

COMMA: Node = (",", ",")

_TAGS = {
    **dict.fromkeys(("in", "on", "at", "by", "before", "after"), "IN"),
    **dict.fromkeys(("the", "every", "this", "these", "a", "an", "no", "some", "any"), "DT"),
    **dict.fromkeys(("last", "next", "many"), "JJ"),
    **dict.fromkeys(("my", "your", "his", "her", "our", "their"), "PRP$"),
}
_DAYS_AS_NOUNS = ("today", "yesterday", "tomorrow")
_PREPOSITIONS = ("in", "on", "at", "by")
_ASKING = ("where", "when", "why")


def phrase(label: str, *parts: Node) -> Node:
    """A constituent."""
    return label, list(parts)


def tag_of(word: str) -> str:
    """The tag of a word of a closed class, or of a noun that names a time."""
    if word.isdecimal():
        return "CD"
    return _TAGS.get(word, "NNP" if word[0].isupper() else "NN")


def preposition(words: str, object_: Sequence[Node]) -> Node:
    """A prepositional phrase; there is no object where a relative pronoun stands for it."""
    match words.split():
        case ["in", "front", "of"]:
            inner = phrase("NP", phrase("NP", ("NN", "front")), phrase("PP", ("IN", "of"), *object_))
            return phrase("PP", ("IN", "in"), inner)
        case ["next", "to"]:
            return phrase("PP", ("JJ", "next"), phrase("PP", ("TO", "to"), *object_))
        case parts:
            return phrase("PP", *(("TO" if part == "to" else "IN", part) for part in parts), *object_)


@cache
def fixed(text: str) -> Node:
    """The constituent that an adverb or a fixed phrase is."""
    words = text.split()
    if len(words) == 1 and text in _ASKING:
        return phrase("WHADVP", ("WRB", text))
    if len(words) == 1 and text not in _DAYS_AS_NOUNS:
        return phrase("ADVP", ("RB", text))
    if words[0] in _PREPOSITIONS:
        return phrase("PP", ("IN", words[0]), _noun_phrase(words[1:]))
    return _noun_phrase(words)


def _noun_phrase(words: Sequence[str]) -> Node:
    """A time in words: "last week", "the day before yesterday"."""
    for position, word in enumerate(words):
        if word in ("before", "after"):
            inner = phrase("PP", ("IN", word), _noun_phrase(words[position + 1 :]))
            return phrase("NP", _noun_phrase(words[:position]), inner)
    return phrase("NP", *((tag_of(word), word) for word in words))


def spoken(nodes: Sequence[Node]) -> list[str]:
    """The words from left to right, as they are written in a sentence: a possessive mark at its noun."""
    words: list[str] = []
    _speak(nodes, words)
    return words


def _speak(nodes: Sequence[Node], words: list[str]) -> None:
    for label, content in nodes:
        if not isinstance(content, str):
            _speak(content, words)
        elif label == "POS":
            words[-1] += content
        else:
            words.append(content)
