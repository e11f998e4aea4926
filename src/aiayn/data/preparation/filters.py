"""Criteria for dropping training pairs, and the overlap of training pairs with dev and test."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from aiayn.data.corpora.corpus import HELD_OUT, Split
from aiayn.data.lines import TextPairs
from aiayn.data.words import letters_of, words_of
from aiayn.errors import UserError

REASONS: Final = ("empty", "contaminated", "language", "too_long", "ratio", "duplicate")
"""Reasons for dropping a pair; a pair counts under the first that applies."""

EXAMPLES = 5
"""Contaminated training sentences shown in a manifest."""

PLACES: Final = tuple(f"{split}.{side}" for split in HELD_OUT for side in ("source", "target"))
"""The sides of dev and test."""
_FEWEST = 3
"""Function words of another language that a sentence must have; names and titles have fewer."""

_FUNCTION_WORDS = {
    "en": """
        the of and to is that for it with be this are by not or from have has they you we which their been would there
        were he she but can what when who its if than your these should into how about
    """,
    "de": """
        der die das und ist nicht sie mit sich auf dem ein eine einen einem einer zu im von auch als wir ich aber oder
        wie werden wird haben für über nach bei durch zum zur kann dass sind noch nur aus wenn diese dieser
    """,
    "fr": """
        le la les et est un une que qui dans pour pas sur avec il elle nous vous ce cette au aux du de par sont mais ou
        leur être à ont été ne se je ils sa son cela comme tout fait même aussi
    """,
}
FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()
}
"""Frequent words of each supported language; no word belongs to two of them."""


@dataclass(frozen=True)
class Filters:
    """Requirements on training pairs, in addition to sides that are not empty and not too long."""

    max_ratio: float | None = None
    """Largest ratio of the numbers of sub-words of both sides; None: any."""
    language: bool = False
    """Drop pairs with a side in another language; see `is_in_another_language`."""
    duplicates: bool = False
    """Drop pairs that repeat an earlier one, byte for byte."""
    contaminated: bool = False
    """Drop pairs with a side in dev or test; see `HeldOut`."""


def is_in_another_language(sentence: str, language: str) -> bool:
    """Whether a sentence has three function words of another language, and more than twice as many as of its own.

    Most short sentences, and all of unsupported languages, pass.
    """
    words = letters_of(unicodedata.normalize("NFC", sentence).casefold())
    own = sum(map(FUNCTION_WORDS[language].__contains__, words))
    return any(
        sum(map(others.__contains__, words)) >= max(_FEWEST, 2 * own + 1)
        for name, others in FUNCTION_WORDS.items()
        if name != language
    )


def check_languages(*languages: str) -> None:
    """Raise a UserError if `is_in_another_language` does not support a language."""
    if unknown := sorted({*languages} - FUNCTION_WORDS.keys()):
        raise UserError(
            f"data.filters.language=true supports {', '.join(FUNCTION_WORDS)}, not {' and '.join(unknown)}; "
            "set data.filters.language=false"
        )


def normalized(sentence: str) -> str:
    """Return the words of a sentence in NFKC without case, punctuation and spacing; may be empty."""
    return " ".join(words_of(unicodedata.normalize("NFKC", sentence).casefold()))


@final
@dataclass(frozen=True)
class HeldOut:
    """The normalised sentences of dev and test by side, each with one bit per split that contains it."""

    sides: tuple[Mapping[str, int], Mapping[str, int]]

    @classmethod
    def of(cls, texts: Mapping[Split, Iterable[TextPairs]]) -> Self:
        """Collect the sentences of the held-out splits."""
        sides: tuple[dict[str, int], dict[str, int]] = ({}, {})
        for bit, split in enumerate(HELD_OUT):
            for pairs in texts[split]:
                for known, lines in zip(sides, pairs, strict=True):
                    for line in filter(None, map(normalized, lines)):
                        known[line] = known.get(line, 0) | 1 << bit
        return cls(sides)

    def found(self, pairs: TextPairs) -> NDArray[np.uint8]:
        """Return which held-out splits contain each side of each pair, as bits: uint8 `[2, pairs]`."""
        sides = zip(self.sides, pairs, strict=True)
        return np.array([[known.get(normalized(line), 0) for line in lines] for known, lines in sides], np.uint8)

    def counts(self, found: NDArray[np.uint8]) -> dict[str, int]:
        """Count the pairs with a side in a held-out split, as `contaminated`, and their sentences by `PLACES`."""
        bits = [found[side] & 1 << bit for bit in range(len(HELD_OUT)) for side in range(2)]
        numbers = {place: int(np.count_nonzero(each)) for place, each in zip(PLACES, bits, strict=True)}
        return {"contaminated": int(np.count_nonzero(found.any(axis=0))), **numbers}


def pair_hashes(pairs: TextPairs) -> NDArray[np.uint64]:
    """Return a hash of each pair, uint64 `[pairs]`; 36 million pairs have a collision with probability 1/28,000."""
    digests = (
        blake2b(f"{source}\n{target}".encode(), digest_size=8).digest() for source, target in zip(*pairs, strict=True)
    )
    return np.frombuffer(b"".join(digests), "<u8")


def first_occurrences(parts: Sequence[NDArray[np.uint64]], *, share_size: int = 1 << 22) -> NDArray[np.bool_]:
    """Mark the first occurrence of each value in concatenated arrays: bool `[values]`.

    Values are grouped by remainder and sorted in groups of about `share_size`, which bounds the memory.
    """
    values = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    first = np.zeros(len(values), np.bool_)
    shares = 1 + len(values) // share_size
    for share in range(shares):
        chosen = np.flatnonzero(values % np.uint64(shares) == share)
        _, places = np.unique(values[chosen], return_index=True)
        first[chosen[places]] = True
    return first
