"""The interface of a corpus: aligned sources and targets in three splits, identified by their content."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Protocol

Split = Literal["train", "dev", "test"]
Task = Literal["translation", "parsing"]
"""The kind of the targets: text of another language, or linearised trees of the sources."""
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
HELD_OUT: tuple[Split, ...] = SPLITS[1:]
"""The splits that are scored."""


class Corpus(Protocol):
    """Aligned sentence pairs in a fixed order; languages are ISO 639-1 codes, and `brackets` for trees."""

    task: ClassVar[Task]
    source_language: str
    target_language: str

    @property
    def identity(self) -> str:
        """Hexadecimal SHA-256 that changes with any sentence and with their order; a UserError if there is none."""
        ...

    @property
    def origin(self) -> dict[str, Any]:
        """The corpus' kind, names and checksums, for a manifest."""
        ...

    def rows(self, split: Split, *, start: int = 0) -> Iterator[tuple[str, ...]]:
        """Read a split from row `start` on: source, target and, for parsing, the gold tree, each without line breaks.

        Raises:
            UserError: The split cannot be read.
        """
        ...

    def size(self, split: Split) -> int | None:
        """Return the number of rows of a split; None if it is not known before reading."""
        ...
