"""English constituents with labels of the Penn Treebank.

A node is a label with its children, or a tag with its word; plain tuples, since a corpus has half a million of them.
"""

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

Node: TypeAlias = "tuple[str, str | list[Node]]"

COMMA: Node = (",", ",")

_TAGS = {
    **dict.fromkeys(("in", "on", "at", "by", "before", "after"), "IN"),
    **dict.fromkeys(("the", "every", "this", "these", "a", "an", "no", "some", "any"), "DT"),
    **dict.fromkeys(("last", "next", "many"), "JJ"),
    **dict.fromkeys(("my", "your", "his", "her", "our", "their"), "PRP$"),
}


def phrase(label: str, *parts: Node) -> Node:
    """Return a constituent."""
    return label, list(parts)


def tag_of(word: str) -> str:
    """Return the tag of a function word, a number or a noun of time."""
    if word.isdecimal():
        return "CD"
    return _TAGS.get(word, "NNP" if word[0].isupper() else "NN")


def preposition(words: str, object_: Sequence[Node]) -> Node:
    """Return a prepositional phrase; `object_` is empty where a relative pronoun replaces it."""
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
    """Return the constituent of an adverb or a fixed phrase."""
    words = text.split()
    if len(words) == 1 and text in ("where", "when", "why"):
        return phrase("WHADVP", ("WRB", text))
    if len(words) == 1 and text not in ("today", "yesterday", "tomorrow"):
        return phrase("ADVP", ("RB", text))
    if words[0] in ("in", "on", "at", "by"):
        return phrase("PP", ("IN", words[0]), _noun_phrase(words[1:]))
    return _noun_phrase(words)


def _noun_phrase(words: Sequence[str]) -> Node:
    """Return a time such as "last week" or "the day before yesterday"."""
    for position, word in enumerate(words):
        if word in ("before", "after"):
            inner = phrase("PP", ("IN", word), _noun_phrase(words[position + 1 :]))
            return phrase("NP", _noun_phrase(words[:position]), inner)
    return phrase("NP", *((tag_of(word), word) for word in words))


def words_of(nodes: Sequence[Node]) -> list[str]:
    """Return the words from left to right, with possessive marks joined to their nouns."""
    words: list[str] = []
    for label, content in nodes:
        if not isinstance(content, str):
            words += words_of(content)
        elif label == "POS":
            words[-1] += content
        else:
            words.append(content)
    return words
