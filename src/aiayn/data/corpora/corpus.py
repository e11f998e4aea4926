"""What every corpus is: sources and targets in three splits, and an identity that stands for every sentence."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol

Split = Literal["train", "dev", "test"]
Task = Literal["translation", "parsing"]
"""What targets are, and so what outputs are scored by: text of another language, or linearised trees of the sources."""
SPLITS: tuple[Split, ...] = ("train", "dev", "test")


class Corpus(Protocol):
    """Aligned sentence pairs in the order they are given, one table a split.

    Attributes:
        source_language: ISO 639-1 code of the source side, such as ``en``.
        target_language: ISO 639-1 code of the target side, such as ``de``; ``brackets`` where it holds trees.
        task: what targets are.
    """

    task: ClassVar[Task]
    source_language: str
    target_language: str

    @property
    def identity(self) -> str:
        """Hexadecimal SHA-256 that changes whenever any sentence, or the order of two, would."""
        ...

    @property
    def origin(self) -> dict[str, Any]:
        """Where the sentences come from, in words and checksums, for a manifest; ``kind`` is the corpus' own."""
        ...

    def split(self, split: Split) -> Any:
        """Return the split: a memory-mapped table with the text columns ``source`` and ``target``, or `StreamedPairs`.

        `streamed.text_of` reads either. Where the task is parsing, the column `tree` has the gold trees as well.

        Raises:
            UserError: the split cannot be read; the one line names the key, the file and what to do.
        """
        ...
