"""Parallel corpora from the Hugging Face hub, or from a local folder in the same format."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.corpora.hub_data_set import HubDataSet
from aiayn.data.corpora.streamed import StreamedPairs
from aiayn.data.lines import breaks_as_spaces
from aiayn.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import datasets

    from aiayn.data.corpora.corpus import Split, Task

_TEXT = frozenset({"string", "large_string"})
_FILTERED_NEWSTEST2014 = 2737
"""Pairs of the filtered newstest2014, which WMT14 used for evaluation; papers report on the full one."""


@final
class HubCorpus:
    """Sentence pairs of a data set in one of the hub's two formats.

    Either a column `translation` holds both languages, `{"en": ..., "de": ...}`, or each language is a column of text.
    A line break inside a sentence is read as a space.

    Args:
        path: Repository on the hub, such as `wmt/wmt14`, or a local folder; see `HubDataSet`.
        subset: Configuration of the data set, or None.
        revision: Commit, branch or tag on the hub; None: the newest.
        source_language: ISO 639-1 code.
        target_language: ISO 639-1 code.
        splits: The data set's name of each split; may be a slice such as `train[:1%]`.
        sentences: Required number of pairs per split; None or absent: any.
        streaming: Read the splits as streams, without storing tables.
        scratch_directory: Where the tables of a local folder are kept while in use.
    """

    task: ClassVar[Task] = "translation"

    def __init__(
        self,
        *,
        path: str,
        subset: str | None,
        revision: str | None,
        source_language: str,
        target_language: str,
        splits: Mapping[Split, str],
        sentences: Mapping[Split, int | None],
        streaming: bool = False,
        scratch_directory: Path | None = None,
    ) -> None:
        self.source_language = source_language
        self.target_language = target_language
        self._path = path
        self._splits = dict(splits)
        self._sentences = dict(sentences)
        self._subset = subset
        self._streaming = streaming
        self._data_set = HubDataSet(path=path, subset=subset, revision=revision, scratch_directory=scratch_directory)

    @cached_property
    def identity(self) -> str:
        """SHA-256 over the settings and the data set's content: its commit on the hub, or its files' bytes.

        Raises:
            UserError: The data set cannot be found.
        """
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
        name = Path(self._path).name if Path(self._path).expanduser().is_dir() else self._path
        return {
            "kind": "hub",
            "path": name,
            "subset": self._subset,
            "splits": self._splits,
            "content": self._data_set.content,
        }

    def split(self, split: Split) -> Any:
        """Return a memory-mapped table with the text columns `source` and `target`, or `StreamedPairs`.

        Raises:
            UserError: The data set, its subset, a split or a column is missing, or a split has another size than
                stated.
        """
        if not self._streaming:
            return self._tables[split].with_transform(_one_line_each)
        name = self._splits[split]
        rows, size = self._data_set.stream(name, key=f"data.splits.{split}")
        return StreamedPairs(
            rows,
            languages=(self.source_language, self.target_language),
            data_set=self._data_set,
            place=f"data.path={self._path} ({name})",
            size=size,
            on_end=lambda size: self.check_sizes({split: size}),
        )

    def check_sizes(self, sizes: Mapping[Split, int]) -> None:
        """Compare the numbers of pairs, before filtering, with the stated ones.

        Raises:
            UserError: A split has another number of pairs.
        """
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
                f"data.sentences.{split}={stated}: data.path={self._path} ({name}) has {size} pairs{why}; set "
                f"data.sentences.{split}={size} to accept them, null not to compare"
            )

    @cached_property
    def _tables(self) -> dict[Split, datasets.Dataset]:
        """All splits at once, so that every error is found before the first split is tokenised."""
        tables = {split: self._data_set.table(self._splits[split], key=f"data.splits.{split}") for split in SPLITS}
        self.check_sizes({split: len(table) for split, table in tables.items()})
        return {split: self._columns(table, split) for split, table in tables.items()}

    def _columns(self, table: datasets.Dataset, split: Split) -> datasets.Dataset:
        """Select both languages, under `translation` or as plain columns, and rename them to source and target."""
        flat = table.flatten()
        pairs = [[prefix + self.source_language, prefix + self.target_language] for prefix in ("translation.", "")]
        found = next((pair for pair in pairs if set(pair) <= set(flat.column_names)), None)
        place = f"data.path={self._path} ({self._splits[split]})"
        if found is None:
            raise UserError(
                f"{place} has the columns {', '.join(flat.column_names)}, not {' and '.join(pairs[0])}, nor "
                f"{' and '.join(pairs[1])}; fix data.source_language, data.target_language or data.subset"
            )
        flat = flat.select_columns(found)
        for column in found:
            kind, missing = str(flat.features[column].dtype), flat.data.column(column).null_count
            if kind not in _TEXT or missing:
                what = f"{missing} missing sentences" if kind in _TEXT else f"values of type {kind}, not text"
                raise UserError(f"{place} has {what} in its column {column}")
        if not len(flat):
            raise UserError(f"data.path={self._path}: data.splits.{split}={self._splits[split]} is empty; name another")
        return flat.rename_columns(dict(zip(found, ("source", "target"), strict=True)))


def _one_line_each(batch: dict[str, list[str]]) -> dict[str, list[str]]:
    return {column: [breaks_as_spaces(text) for text in texts] for column, texts in batch.items()}
