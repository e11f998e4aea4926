"""What batches are made of: sentences as token ids, end to end, on disk or in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
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
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each sentence, eos included: int64 `[sentences]`."""
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
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences)) + 1
        with_eos = chain.from_iterable((*ids, eos_id) for ids in sentences)
        tokens = np.fromiter(with_eos, np.int32, int(lengths.sum()))
        return cls(tokens, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each sentence, eos included: int64 `[sentences]`."""
        return np.diff(self.offsets)


class PairsInMemory(NamedTuple):
    """Sentence pairs that were encoded just now."""

    source: SentencesInMemory
    target: SentencesInMemory
