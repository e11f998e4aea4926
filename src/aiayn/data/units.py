"""Readable labels of token ids, by token or by word."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from aiayn.data.vocabulary import AnyTokenizer

CONTINUES = "‿"
"""Prefix of a token that does not begin its word."""
SPACE = "␣"
"""Label of a unit of spaces only."""
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
"""Invisible, and part of words of Persian, Hindi and others."""
_NO_CHARACTER = re.compile(r"[\udc80-\udcff]")  # Python's surrogate escapes for bytes that are not UTF-8


class Units(NamedTuple):
    """Printable labels of a token sequence, and the index of the first token of each."""

    labels: list[str]
    starts: list[int]


def token_units(tokenizer: AnyTokenizer, ids: Sequence[int]) -> Units:
    """Return one unit per token, special ones included; bytes that are no whole character are written as ⟨E6⟩."""
    texts, is_first = tokenizer.as_bytes(ids), _first_of_words(tokenizer, ids)
    labels = [
        ("" if first else CONTINUES) + _shown(text or tokenizer.pieces[number].encode())
        for number, text, first in zip(ids, texts, is_first, strict=True)
    ]
    return Units(labels, list(range(len(ids))))


def word_units(tokenizer: AnyTokenizer, ids: Sequence[int]) -> Units:
    """Return one unit per word, as split by the tokenizer; a special token is its own word."""
    texts, is_first = tokenizer.as_bytes(ids), _first_of_words(tokenizer, ids)
    starts = [position for position, first in enumerate(is_first) if first]
    labels = [
        _shown(b"".join(texts[start:end]) or tokenizer.pieces[ids[start]].encode())
        for start, end in pairwise([*starts, len(ids)])
    ]
    return Units(labels, starts)


def _first_of_words(tokenizer: AnyTokenizer, ids: Sequence[int]) -> list[bool]:
    """Whether each token begins a word; a token across a border, as a model may write, belongs where it begins."""
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
    """Format bytes as a label, without leading spaces and with unprintable characters in hexadecimal."""
    stripped = text.decode(errors="surrogateescape").lstrip(" ")
    joiners = _JOINERS if stripped.strip(_JOINERS) else ""
    return (
        "".join(
            each
            if each.isprintable() or each in joiners
            else "".join(f"⟨{byte:02X}⟩" for byte in each.encode(errors="surrogateescape"))
            for each in stripped
        )
        or SPACE
    )
