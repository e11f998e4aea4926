"""Parallel corpora in plain or gzip text files: one sentence a line, both sides line by line translations."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

from aiayn.data.corpora.mapped_table import mapped_table
from aiayn.data.corpora.named_files import file_digest, named_files
from aiayn.data.lines import aligned_lines
from aiayn.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    import datasets

    from aiayn.data.corpora.corpus import Split, Task


@dataclass(frozen=True)
class SplitFiles:
    """The aligned files of one split: on each side a path, a glob (its matches sorted), or a list of those in order."""

    source: Sequence[str] | str
    target: Sequence[str] | str


@final
class TextFilesCorpus:
    """Sentence pairs from UTF-8 files, gzip or not.

    What a line is, `data/lines.py` says. Empty lines are pairs too; what to train on is decided elsewhere.

    Args:
        files: The files of each split.
        source_language: ISO 639-1 code of the source side.
        target_language: ISO 639-1 code of the target side.
        cache_directory: Folder for the tables that `split` maps into memory, the system's temporary folder if not
            given. A table is removed when it is no longer in use.
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
        """SHA-256 over the languages and the bytes of all files in order; where they lie does not matter.

        Raises:
            UserError: a file is missing or cannot be read.
        """
        digests = {split: [[digest for _, digest in pair] for pair in pairs] for split, pairs in self._digests.items()}
        content = {"kind": "text_files", "languages": [self.source_language, self.target_language], "files": digests}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, Any]:
        """Name and SHA-256 of each file, pairs of source and target in order by split, for a manifest."""
        files = {
            split: [[{"file": path.name, "sha256": digest} for path, digest in pair] for pair in pairs]
            for split, pairs in self._digests.items()
        }
        return {"kind": "text_files", "files": files}

    @cached_property
    def _digests(self) -> dict[Split, list[list[tuple[Path, str]]]]:
        return {
            split: [[(path, file_digest(path, f"data.{split}")) for path in pair] for pair in self._paired(split)]
            for split in sorted(self._files)
        }

    def split(self, split: Split) -> datasets.Dataset:
        """Return the split as a memory-mapped table with the text columns `source` and `target`.

        Raises:
            UserError: files are missing, unreadable, empty or not aligned.
        """
        return mapped_table(
            self._pairs(split), ("source", "target"), key=f"data.{split}", cache_directory=self._cache_directory
        )

    def _pairs(self, split: Split) -> Generator[tuple[str, str]]:
        for source, target in self._paired(split):
            yield from aligned_lines(source, target, f"data.{split}.")

    def _paired(self, split: Split) -> list[tuple[Path, Path]]:
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
