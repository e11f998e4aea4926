"""Words and characters of sentences of any script, by the categories of Unicode."""

import unicodedata
from typing import Final, final


@final
class _Separated(dict[int, int]):
    """A table for `str.translate` that replaces the characters of other categories by spaces; it fills on demand.

    The standard library's regular expressions have no categories of Unicode, and their words leave combining marks out,
    which are the vowels of Indic scripts, the tones of Thai and the niqqud of Hebrew.
    """

    def __init__(self, categories: str) -> None:
        self._categories = categories

    def __missing__(self, code: int) -> int:
        self[code] = code if unicodedata.category(chr(code))[0] in self._categories else ord(" ")
        return self[code]


_WORDS: Final = _Separated("LMN")
_LETTERS: Final = _Separated("LM")


def words_of(line: str) -> list[str]:
    """Return the runs of letters, marks and digits (categories L, M and N) in a line."""
    return line.translate(_WORDS).split()


def letters_of(line: str) -> list[str]:
    """Return the runs of letters and marks in a line."""
    return line.translate(_LETTERS).split()


def characters_of(line: str) -> list[str]:
    """Return the letters, marks and digits in a line, which stand for words where no spaces separate them."""
    return list("".join(words_of(line)))
