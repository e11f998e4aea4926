"""Parallel corpora in plain or gzip text files: one sentence a line, aligned line by line."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

from aiayn.data.corpora.files import file_digest, mapped_table, named_files
from aiayn.data.lines import aligned_lines
from aiayn.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    import datasets

    from aiayn.data.corpora.corpus import Split, Task


@dataclass(frozen=True)
class SplitFiles:
    """The aligned files of one split; a side is a path, a glob (its matches are sorted) or a list of those."""

    source: Sequence[str] | str
    target: Sequence[str] | str


@final
class TextFilesCorpus:
    """Sentence pairs from UTF-8 files, gzip or not; `aiayn.data.lines` defines a line. Empty lines are kept.

    Args:
        files: The files of each split.
        source_language: ISO 639-1 code.
        target_language: ISO 639-1 code.
        cache_directory: Where tables are written while in use; None: the system's temporary folder.
    """

    task: ClassVar[Task] = "translation"

    def __init__(
        self,
        *,
        files: Mapping[Split, SplitFiles],
        source_language: str,
        target_language: str,
        cache_directory: Path | None = None,
    ) -> None:
        self.source_language = source_language
        self.target_language = target_language
        self._files = dict(files)
        self._cache_directory = cache_directory

    @cached_property
    def identity(self) -> str:
        """SHA-256 over the languages and the bytes of all files in order, wherever they are.

        Raises:
            UserError: A file is missing or cannot be read.
        """
        digests = {split: [[digest for _, digest in pair] for pair in pairs] for split, pairs in self._digests.items()}
        content = {"kind": "text_files", "languages": [self.source_language, self.target_language], "files": digests}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, Any]:
        """Name and SHA-256 of each file, in pairs of source and target by split."""
        files = {
            split: [[{"file": path.name, "sha256": digest} for path, digest in pair] for pair in pairs]
            for split, pairs in self._digests.items()
        }
        return {"kind": "text_files", "files": files}

    @cached_property
    def _digests(self) -> dict[Split, list[list[tuple[Path, str]]]]:
        return {
            split: [[(path, file_digest(path, f"data.{split}")) for path in pair] for pair in self._file_pairs(split)]
            for split in sorted(self._files)
        }

    def split(self, split: Split) -> datasets.Dataset:
        """Return a memory-mapped table with the text columns `source` and `target`.

        Raises:
            UserError: Files are missing, unreadable, empty or not aligned.
        """
        return mapped_table(
            self._pairs(split), ("source", "target"), key=f"data.{split}", cache_directory=self._cache_directory
        )

    def _pairs(self, split: Split) -> Generator[tuple[str, str]]:
        for source, target in self._file_pairs(split):
            yield from aligned_lines(source, target, f"data.{split}.")

    def _file_pairs(self, split: Split) -> list[tuple[Path, Path]]:
        if split not in self._files:
            raise UserError(f"data.{split} is not set; name its files: data.{split}.source=... data.{split}.target=...")
        files = self._files[split]
        sources = named_files(files.source, f"data.{split}.source")
        targets = named_files(files.target, f"data.{split}.target")
        if len(sources) != len(targets):
            raise UserError(
                f"data.{split}.source names {len(sources)} files and data.{split}.target {len(targets)}; "
                f"name as many on both sides (first: {sources[0]} and {targets[0]})"
            )
        return list(zip(sources, targets, strict=True))
