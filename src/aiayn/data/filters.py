"""Which training pairs are left out beside those that are empty or too long, and which are in dev or test as well."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Final, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from aiayn.data.corpora.corpus import SPLITS, Split

TextPairs: TypeAlias = tuple[list[str], list[str]]
"""Some sources and as many targets."""

REASONS: Final = ("empty", "contaminated", "language", "too_long", "ratio", "duplicate")
"""Why a pair is dropped; one that could be for several reasons counts under the first."""

EXAMPLES = 5
"""Training sentences that a manifest shows of those in dev or test."""

HELD_OUT: Final[tuple[Split, ...]] = SPLITS[1:]
_SIDES: Final = ("source", "target")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Filters:
    """What is asked of a training pair beside sides that are neither empty nor too long.

    Attributes:
        max_ratio: sub-words of the longer side for each of the shorter, at most; None: any number.
        language: no side reads like another language than its own; see `languages`.
        duplicates: no pair before it is the same, byte for byte.
        contaminated: neither side is a sentence of dev or test; see `HeldOut`.
    """

    max_ratio: float | None = None
    language: bool = False
    duplicates: bool = False
    contaminated: bool = False


def normalized(sentence: str) -> str:
    """The words of a sentence without case, punctuation and spacing, in NFKC; empty where it has none."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", sentence).casefold()))


@final
@dataclass(frozen=True)
class HeldOut:
    """The sentences of dev and test: those of each side, normalised, with a bit for each split that has them."""

    sides: tuple[Mapping[str, int], Mapping[str, int]]

    @classmethod
    def of(cls, texts: Mapping[Split, Iterable[TextPairs]]) -> Self:
        """Collect the sentences of the held-out splits, which are small."""
        sides: tuple[dict[str, int], dict[str, int]] = ({}, {})
        for bit, split in enumerate(HELD_OUT):
            for pairs in texts[split]:
                for known, lines in zip(sides, pairs, strict=True):
                    for line in filter(None, map(normalized, lines)):
                        known[line] = known.get(line, 0) | 1 << bit
        return cls(sides)

    def found(self, pairs: TextPairs) -> NDArray[np.uint8]:
        """Which held-out splits have the two sides of each pair, as bits: uint8 `[2, pairs]`."""
        return np.array(
            [
                [known.get(normalized(line), 0) for line in lines]
                for known, lines in zip(self.sides, pairs, strict=True)
            ],
            np.uint8,
        )


@dataclass
class Contamination:
    """How many training pairs have a sentence of dev or test, whether they are dropped or not.

    Attributes:
        pairs: those of which either side is in either split.
        sentences: training sentences by the split and the side that have them, as in `dev.source`.
        examples: a few of the first.
    """

    pairs: int
    sentences: dict[str, int]
    examples: list[str]

    @classmethod
    def of(cls, found: NDArray[np.uint8], pairs: TextPairs) -> Self:
        """Count what `HeldOut.found` told of some pairs."""
        sentences = {
            f"{split}.{side}": int(np.count_nonzero(found[number] & 1 << bit))
            for bit, split in enumerate(HELD_OUT)
            for number, side in enumerate(_SIDES)
        }
        examples = (pairs[side][index] for index, side in np.argwhere(found.T)[:EXAMPLES])
        return cls(int(found.any(axis=0).sum()), sentences, list(examples))

    @classmethod
    def together(cls, parts: Sequence["Contamination"]) -> Self:
        """That of all pairs, the parts being in their order."""
        sentences = {
            place: sum(part.sentences[place] for part in parts)
            for place in (f"{split}.{side}" for split in HELD_OUT for side in _SIDES)
        }
        examples = list(chain.from_iterable(part.examples for part in parts))[:EXAMPLES]
        return cls(sum(part.pairs for part in parts), sentences, examples)


def pair_hashes(pairs: TextPairs) -> NDArray[np.uint64]:
    """64 bits that stand for each pair: uint64 `[pairs]`.

    Of 36 million different pairs, two have the same hash once in 28,000 corpora.
    """
    digests = (
        blake2b(f"{source}\n{target}".encode(), digest_size=8).digest() for source, target in zip(*pairs, strict=True)
    )
    return np.frombuffer(b"".join(digests), "<u8")


def first_occurrences(parts: Sequence[NDArray[np.uint64]], *, at_once: int = 1 << 22) -> NDArray[np.bool_]:
    """Which values are the first of their kind, all parts being one sequence: bool `[values]`.

    Values are compared some at a time, by their remainder, so that memory beside the values themselves stays bounded.

    Args:
        parts: the values, in order.
        at_once: about how many are sorted at a time.
    """
    values = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    first = np.zeros(len(values), np.bool_)
    shares = 1 + len(values) // at_once
    for share in range(shares):
        chosen = np.flatnonzero(values % np.uint64(shares) == share)
        _, places = np.unique(values[chosen], return_index=True)
        first[chosen[places]] = True
    return first
