"""One split of a prepared corpus: flat arrays of token ids, mapped into memory, and the text that scores need."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from aiayn.data.batches.sentences import lengths_between
from aiayn.data.corpora.corpus import Split
from aiayn.data.preparation.encoding import with_suffix

TREES = "trees"
"""What the file of gold trees ends with."""


@final
class TokenArray:
    """One side of a split: token ids of all sentences end to end, each ending with eos, read from disk on demand.

    Attributes:
        tokens: int32 `[tokens]`, memory-mapped.
        offsets: int64 `[sentences + 1]`, memory-mapped; sentence i is `tokens[offsets[i] : offsets[i + 1]]`.
    """

    def __init__(self, stem: Path, limit: int | None = None) -> None:
        self._stem, self._limit = stem, limit
        self.tokens: NDArray[np.int32] = np.asarray(np.memmap(with_suffix(stem, "tokens"), dtype="<i4", mode="r"))
        offsets: NDArray[np.int64] = np.asarray(np.memmap(with_suffix(stem, "offsets"), dtype="<i8", mode="r"))
        self.offsets = offsets if limit is None else offsets[: limit + 1]

    def __reduce__(self) -> tuple[type["TokenArray"], tuple[Path, int | None]]:
        return TokenArray, (self._stem, self._limit)  # a pickled map would carry all its data

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Return the token ids of one sentence, eos included: int32 `[length]`."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"sentence {index} of {len(self)}")
        index %= len(self)
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[index] for index in range(len(self)))

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """Tokens of each sentence, eos included: int32 `[sentences]`."""
        return lengths_between(self.offsets)


@final
class PreparedSplit:
    """The sentence pairs of one split.

    Attributes:
        source: the source side's token ids.
        target: the target side's token ids, as many sentences.
    """

    def __init__(self, directory: Path, name: Split, limit: int | None = None) -> None:
        self._stems = directory / f"{name}.source", directory / f"{name}.target"
        self._gold = directory / f"{name}.{TREES}"
        self.source, self.target = (TokenArray(stem, limit) for stem in self._stems)

    def __len__(self) -> int:
        return len(self.source)

    def source_lines(self) -> list[str]:
        """Return the raw source sentences; kept for dev and test only."""
        return _read_lines(self._stems[0])[: len(self)]

    def target_lines(self) -> list[str]:
        """Return the raw target sentences, the references of a translation; kept for dev and test only."""
        return _read_lines(self._stems[1])[: len(self)]

    def gold_trees(self) -> list[str]:
        """Return the trees in brackets with their tags; kept for dev and test of treebanks only."""
        return _lines_of(self._gold)[: len(self)]


def _read_lines(stem: Path) -> list[str]:
    return _lines_of(with_suffix(stem, "txt"))


def _lines_of(path: Path) -> list[str]:
    assert path.exists(), f"{path}: raw text is kept for dev and test only"
    return path.read_bytes().decode().split("\n")[:-1]  # not splitlines: a sentence may hold \r or U+2028
