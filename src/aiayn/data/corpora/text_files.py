"""Parallel corpora in text files, packed or not: one sentence a line, aligned line by line."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, final

from aiayn.data.corpora.corpus import Split, Task
from aiayn.data.corpora.files import named_files
from aiayn.data.lines import aligned_lines, count_lines, file_entry
from aiayn.errors import UserError


class SplitFiles(NamedTuple):
    """The aligned files of one split; a side is a path, a glob (its matches are sorted) or a list of those."""

    source: Sequence[str] | str
    target: Sequence[str] | str


@final
class TextFilesCorpus:
    """Sentence pairs from UTF-8 files, packed or not; `aiayn.data.lines` defines a line. Empty lines are kept."""

    task: ClassVar[Task] = "translation"

    def __init__(self, *, files: Mapping[Split, SplitFiles], source_language: str, target_language: str) -> None:
        self.source_language = source_language
        self.target_language = target_language
        self._files = dict(files)

    @cached_property
    def identity(self) -> str:
        """SHA-256 over the languages and the bytes of all files in order, wherever they are."""
        digests = {split: [[file["sha256"] for file in pair] for pair in pairs] for split, pairs in self._read.items()}
        content = {"kind": "text_files", "languages": [self.source_language, self.target_language], "files": digests}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, Any]:
        """Name and SHA-256 of each file, in pairs of source and target by split."""
        return {"kind": "text_files", "files": self._read}

    @cached_property
    def _read(self) -> dict[Split, list[list[dict[str, str]]]]:
        return {
            split: [[file_entry(path, f"data.{split}") for path in pair] for pair in self._file_pairs(split)]
            for split in sorted(self._files)
        }

    def rows(self, split: Split, *, start: int = 0) -> Iterator[tuple[str, str]]:
        """Read the pairs of a split; a UserError if files are missing, unreadable or not aligned."""
        pairs = (aligned_lines(source, target, f"data.{split}.") for source, target in self._file_pairs(split))
        return islice(chain.from_iterable(pairs), start, None)

    def size(self, split: Split) -> int:
        """Return the number of pairs of a split."""
        return sum(count_lines(source, f"data.{split}.source") for source, _ in self._file_pairs(split))

    def _file_pairs(self, split: Split) -> list[tuple[Path, Path]]:
        sources = named_files(self._files[split].source, f"data.{split}.source")
        targets = named_files(self._files[split].target, f"data.{split}.target")
        if len(sources) != len(targets):
            raise UserError(
                f"data.{split}.source names {len(sources)} files and data.{split}.target {len(targets)}; "
                f"name as many on both sides (first: {sources[0]} and {targets[0]})"
            )
        return list(zip(sources, targets, strict=True))
