"""Token ids as people read them: pieces of words, or whole words."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from aiayn.data.vocabulary import AnyTokenizer

CONTINUES = "‿"
"""Stands before a piece that does not begin its word."""

SPACE = "␣"
"""Stands for a unit of nothing but spaces."""

_NO_CHARACTER = re.compile(r"[\udc80-\udcff]")
"""How Python writes bytes that are no UTF-8."""


class Units(NamedTuple):
    """What a sequence of tokens is shown as."""

    labels: list[str]
    """Of each unit; printable, never empty."""
    starts: list[int]
    """The first token of each unit, ascending from 0."""


def token_units(tokenizer: AnyTokenizer, ids: Sequence[int]) -> Units:
    """Every token by itself, special ones too.

    A piece that continues a word begins with ‿. Bytes that are no whole character, as where a rare one is several
    tokens, are written as ⟨E6⟩.
    """
    texts, is_first = tokenizer.as_bytes(ids), _first_of_words(tokenizer, ids)
    labels = [
        ("" if first else CONTINUES) + _shown(text or tokenizer.pieces[number].encode())
        for number, text, first in zip(ids, texts, is_first, strict=True)
    ]
    return Units(labels, list(range(len(ids))))


def word_units(tokenizer: AnyTokenizer, ids: Sequence[int]) -> Units:
    """The words that tokens make, as the tokenizer parts text into them; a special token is a word of its own."""
    texts, is_first = tokenizer.as_bytes(ids), _first_of_words(tokenizer, ids)
    starts = [position for position, first in enumerate(is_first) if first]
    labels = [
        _shown(b"".join(texts[start:end]) or tokenizer.pieces[ids[start]].encode())
        for start, end in pairwise([*starts, len(ids)])
    ]
    return Units(labels, starts)


def _first_of_words(tokenizer: AnyTokenizer, ids: Sequence[int]) -> list[bool]:
    """Whether each token begins a word.

    A model may write bytes that are no UTF-8, and pieces across the borders of words: a piece belongs to the word in
    which it begins.
    """
    texts = tokenizer.as_bytes(ids)
    text = b"".join(texts).decode(errors="surrogateescape")
    byte_of_character = [0, *accumulate(len(each.encode(errors="surrogateescape")) for each in text)]
    readable = _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text)
    words = [byte_of_character[start] for start in tokenizer.word_starts(readable)]
    begins = [0, *accumulate(map(len, texts))]
    word_of_token = [bisect_right(words, begin) if text else None for begin, text in zip(begins, texts, strict=False)]
    return [
        position == 0 or word is None or word != word_of_token[position - 1]
        for position, word in enumerate(word_of_token)
    ]


def _shown(text: bytes) -> str:
    """Bytes as a label: without the space before them, and with what cannot be printed as hexadecimal digits."""
    stripped = text.decode(errors="surrogateescape").lstrip(" ")
    return "".join(each if each.isprintable() else _digits(each) for each in stripped) or SPACE


def _digits(character: str) -> str:
    """⟨E6⟩ for every byte of a character."""
    return "".join(f"⟨{byte:02X}⟩" for byte in character.encode(errors="surrogateescape"))
