"""The interface of a corpus: aligned sources and targets in three splits, identified by their content."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol

Split = Literal["train", "dev", "test"]
Task = Literal["translation", "parsing"]
"""The kind of the targets: text of another language, or linearised trees of the sources."""
SPLITS: tuple[Split, ...] = ("train", "dev", "test")


class Corpus(Protocol):
    """Aligned sentence pairs in a fixed order.

    Attributes:
        source_language: ISO 639-1 code, such as ``en``.
        target_language: ISO 639-1 code, such as ``de``; ``brackets`` for trees.
        task: What targets are.
    """

    task: ClassVar[Task]
    source_language: str
    target_language: str

    @property
    def identity(self) -> str:
        """Hexadecimal SHA-256 that changes with any sentence and with their order."""
        ...

    @property
    def origin(self) -> dict[str, Any]:
        """The corpus' kind, names and checksums, for a manifest."""
        ...

    def split(self, split: Split) -> Any:
        """Return a memory-mapped table with the text columns ``source`` and ``target``, or `StreamedPairs`.

        `streamed.text_of` reads both. For parsing, the table has a column ``tree`` with the gold trees.

        Raises:
            UserError: The split cannot be read.
        """
        ...
