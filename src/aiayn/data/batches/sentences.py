"""What batches are made of: sentences as token ids, end to end, on disk or in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray


class Sentences(Protocol):
    """One side of a corpus: token ids of all sentences end to end, each ending with eos."""

    @property
    def tokens(self) -> NDArray[np.int32]:
        """Int32 `[tokens]`."""
        ...

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Int64 `[sentences + 1]`; sentence i is `tokens[offsets[i] : offsets[i + 1]]`."""
        ...

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Tokens of each sentence, eos included: int32 `[sentences]`."""
        ...


class SentencePairs(Protocol):
    """Both sides, as many sentences each."""

    @property
    def source(self) -> Sentences:
        """What is read."""
        ...

    @property
    def target(self) -> Sentences:
        """What is to be said."""
        ...


@final
@dataclass(frozen=True)
class SentencesInMemory:
    """Sentences that were encoded just now."""

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]], *, eos_id: int) -> Self:
        """Lay out sentences, token ids without eos, and end each with it."""
        with_eos: list[int] = []  # one list and one conversion: a third of the time of an iterator's
        for ids in sentences:
            with_eos += ids
            with_eos.append(eos_id)
        return cls(np.array(with_eos, np.int32), _offsets(np.fromiter(map(len, sentences), np.int64) + 1))

    @classmethod
    def with_lengths(cls, tokens: NDArray[np.int32], lengths: NDArray[np.int32]) -> Self:
        """Sentences that lie end to end already, each with its eos, int32 `[sentences]` being their lengths."""
        return cls(tokens, _offsets(lengths))

    def only(self, chosen: NDArray[np.bool_]) -> Self:
        """The sentences that are chosen, bool `[sentences]`, in their order."""
        return type(self)(self.tokens[np.repeat(chosen, self.lengths)], _offsets(self.lengths[chosen]))

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """Tokens of each sentence, eos included: int32 `[sentences]`."""
        return lengths_between(self.offsets)


class PairsInMemory(NamedTuple):
    """Sentence pairs that were encoded just now."""

    source: SentencesInMemory
    target: SentencesInMemory


def lengths_between(offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """How far each offset is from the next, in half the memory of the offsets: int32 `[sentences]`."""
    return np.subtract(offsets[1:], offsets[:-1], out=np.empty(len(offsets) - 1, np.int32))


def _offsets(lengths: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
