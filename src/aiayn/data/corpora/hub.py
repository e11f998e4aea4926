"""Parallel corpora from the Hugging Face hub, or from a local folder in the same format."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, final

from aiayn.data.corpora.corpus import SPLITS, Split, Task
from aiayn.data.corpora.hub_data_set import HubDataSet
from aiayn.data.lines import breaks_as_spaces
from aiayn.errors import UserError
from aiayn.system import files

_BATCH = 1_000  # rows read at a time
_FILTERED_NEWSTEST2014 = 2737
"""Pairs of the filtered newstest2014, which WMT14 used for evaluation; papers report on the full one."""


@final
class HubCorpus:
    """Sentence pairs of a data set in one of the hub's two formats.

    Either a column `translation` holds both languages, `{"en": ..., "de": ...}`, or each language is a column of text.
    A line break inside a sentence is read as a space.

    Args:
        splits: The data set's name of each split; may be a slice such as `train[:1%]`.
        sentences: Required number of pairs per split; None or absent: any.
        streaming: Read the splits as streams, without storing tables.
    """

    task: ClassVar[Task] = "translation"

    def __init__(
        self,
        data_set: HubDataSet,
        *,
        source_language: str,
        target_language: str,
        splits: Mapping[Split, str],
        sentences: Mapping[Split, int | None],
        streaming: bool,
    ) -> None:
        self.source_language = source_language
        self.target_language = target_language
        self._data_set, self._splits, self._sentences = data_set, dict(splits), dict(sentences)
        self._streaming = streaming

    @cached_property
    def identity(self) -> str:
        """SHA-256 over the settings and the data set's content: its commit on the hub, or its files' bytes."""
        content = {
            "kind": "hub",
            "content": self._data_set.content,
            "languages": [self.source_language, self.target_language],
            "splits": [self._splits[split] for split in SPLITS],
        }
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, Any]:
        """The data set, its subset and splits, and its commit or the checksums of its files."""
        path, subset, content = self._data_set.path, self._data_set.subset, self._data_set.content
        name = Path(path).name if files.is_dir(Path(path).expanduser()) else path
        return {"kind": "hub", "path": name, "subset": subset, "splits": self._splits, "content": content}

    def rows(self, split: Split, *, start: int = 0) -> Iterator[tuple[str, str]]:
        """Read the pairs of a split; the size of a stream is compared at its end.

        Raises:
            UserError: The data set, its subset, a split or the text of a language is missing, or a split has another
                size than stated.
            RunFailedError: The hub cannot be reached.
        """
        if self._streaming:
            data, _ = self._data_set.stream(self._splits[split], key=f"data.splits.{split}")
        else:
            data = self._tables[split]
            if start >= len(data):
                return
        batches = iter(data.skip(start).iter(batch_size=_BATCH))
        size = start
        while True:
            with self._data_set.one_line_errors():
                batch = next(batches, None)
            if batch is None:
                break
            source, target = (
                self._texts(split, batch, language, size) for language in (self.source_language, self.target_language)
            )
            yield from zip(source, target, strict=True)
            size += len(source)
        if self._streaming and not start:
            self._data_set.check_rows(self._splits[split], size)
        if size > start or not start:  # starting at the end or beyond leaves the size unknown
            self.check_sizes({split: size})

    def size(self, split: Split) -> int | None:
        """Return the number of pairs of a split; None if the data set does not state it and is streamed."""
        if self._streaming:
            return self._data_set.stream(self._splits[split], key=f"data.splits.{split}")[1]
        return len(self._tables[split])

    def check_sizes(self, sizes: Mapping[Split, int]) -> None:
        """Raise a UserError if a split has another number of pairs, before filtering, than stated."""
        for split, size in sizes.items():
            stated, name = self._sentences.get(split), self._splits[split]
            if stated in (None, size):
                continue
            why = ""
            if "[" in name:
                why = ", being part of a split"
            elif size == _FILTERED_NEWSTEST2014:
                why = ", probably the filtered newstest2014 and not the full one of 3003"
            raise UserError(
                f"data.sentences.{split}={stated}: data.path={self._data_set.path} ({name}) has {size} pairs{why}; set "
                f"data.sentences.{split}={size} to accept them, null not to compare"
            )

    @cached_property
    def _tables(self) -> dict[Split, Any]:
        """All splits at once, so that errors are found before the first split is tokenised."""
        tables = {split: self._data_set.table(self._splits[split], key=f"data.splits.{split}") for split in SPLITS}
        self.check_sizes({split: len(table) for split, table in tables.items()})
        return tables

    def _texts(self, split: Split, batch: Mapping[str, Sequence[Any]], language: str, first: int) -> list[str]:
        """Return one language of consecutive rows, the first of which has the given number."""
        place = f"data.path={self._data_set.path} ({self._splits[split]})"
        if "translation" in batch:
            texts: list[Any] = [row.get(language) if isinstance(row, dict) else None for row in batch["translation"]]
        elif language in batch:
            texts = list(batch[language])
        else:
            raise UserError(
                f"{place} has the columns {', '.join(batch)}, neither translation nor {language}; fix "
                "data.source_language, data.target_language or data.subset"
            )
        for number, text in enumerate(texts, first):
            if not isinstance(text, str):
                raise UserError(
                    f"{place} has no text in the language {language} in "
                    f"{self._data_set.line_of(self._splits[split], number)}; fix data.source_language, "
                    "data.target_language or the data"
                )
        return list(map(breaks_as_spaces, texts))
