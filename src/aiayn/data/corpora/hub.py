"""Parallel corpora of the Hugging Face hub, or in a local folder of the same shape."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property, partial
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
"""Pairs of the newstest2014 that WMT14 showed to its evaluators; papers report on the full one."""


@final
class HubCorpus:
    """Sentence pairs of a data set in one of the hub's two shapes.

    Either a column `translation` holds both languages, `{"en": ..., "de": ...}`, or each language is a column of text.
    A line break within a sentence is read as a space, for a corpus has one sentence a line.

    Args:
        path: Repository on the hub, such as `wmt/wmt14`, or a local folder; see `HubDataSet`.
        subset: Name of a configuration inside the data set, or none.
        revision: Commit, branch or tag on the hub; none is the newest.
        source_language: ISO 639-1 code of the source side.
        target_language: ISO 639-1 code of the target side.
        splits: The data set's names of our splits; slices such as `train[:1%]` are understood.
        sentences: How many pairs each split has to have; splits left out, or None, may have any number.
        streaming: Read the splits as they come, and store no table of them.
        scratch_directory: Folder for the tables of a local folder while they are in use.
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
        """SHA-256 over what was asked for and the data set's content: its commit on the hub, or its files' bytes.

        Raises:
            UserError: the data set cannot be found.
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
        """The data set, its subset and splits, and its commit or the checksums of its files, for a manifest."""
        name = Path(self._path).name if Path(self._path).expanduser().is_dir() else self._path
        return {
            "kind": "hub",
            "path": name,
            "subset": self._subset,
            "splits": self._splits,
            "content": self._data_set.content,
        }

    def split(self, split: Split) -> Any:
        """Return the split as a memory-mapped table with the text columns `source` and `target`, or `StreamedPairs`.

        Raises:
            UserError: the hub cannot be reached, or the data set, its subset or its columns are not there, or any of
                the splits, or one has another size than stated.
        """
        if self._streaming:
            return self._streamed(split)
        return self._tables[split].with_transform(_one_line_each)

    def _streamed(self, split: Split) -> StreamedPairs:
        name = self._splits[split]
        rows, size = self._data_set.stream(name, key=f"data.splits.{split}")
        return StreamedPairs(
            rows,
            languages=(self.source_language, self.target_language),
            asked=self._data_set.asked,
            place=f"data.path={self._path} ({name})",
            size=size,
            ended=partial(self._refuse_another_size, split),
        )

    def _refuse_another_size(self, split: Split, size: int) -> None:
        self.refuse_other_sizes({split: size})

    def refuse_other_sizes(self, sizes: Mapping[Split, int]) -> None:
        """Compare the numbers of pairs with those that were stated.

        Args:
            sizes: pairs of each split, before any are dropped.

        Raises:
            UserError: a split has more pairs, or fewer.
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
                f"data.sentences.{split}={stated}: data.path={self._path} ({name}) has {size} pairs{why}; state "
                f"data.sentences.{split}={size} to accept them, null not to compare"
            )

    @cached_property
    def _tables(self) -> dict[Split, datasets.Dataset]:
        """All splits at once: what is wrong with the last is said before the first is tokenised."""
        tables = {split: self._data_set.table(self._splits[split], key=f"data.splits.{split}") for split in SPLITS}
        self.refuse_other_sizes({split: len(table) for split, table in tables.items()})
        return {split: self._columns(table, split) for split, table in tables.items()}

    def _columns(self, table: datasets.Dataset, split: Split) -> datasets.Dataset:
        """Find both languages, under `translation` or as columns of their own, and name them source and target."""
        flat = table.flatten()
        pairs = [[prefix + self.source_language, prefix + self.target_language] for prefix in ("translation.", "")]
        found = next((pair for pair in pairs if set(pair) <= set(flat.column_names)), None)
        if found is None:
            raise UserError(
                f"data.path={self._path} ({self._splits[split]}) has the columns {', '.join(flat.column_names)}, not "
                f"{' and '.join(pairs[0])}, nor {' and '.join(pairs[1])}; mend data.source_language, "
                "data.target_language or data.subset"
            )
        flat = flat.select_columns(found)
        for column in found:
            kind, missing = str(flat.features[column].dtype), flat.data.column(column).null_count
            if kind not in _TEXT or missing:
                what = f"{missing} missing sentences" if kind in _TEXT else f"values of type {kind}, not text"
                raise UserError(f"data.path={self._path} ({self._splits[split]}) has {what} in its column {column}")
        if not len(flat):
            raise UserError(f"data.path={self._path}: data.splits.{split}={self._splits[split]} is empty; name another")
        return flat.rename_columns(dict(zip(found, ("source", "target"), strict=True)))


def _one_line_each(batch: dict[str, list[str]]) -> dict[str, list[str]]:
    return {column: [breaks_as_spaces(text) for text in texts] for column, texts in batch.items()}
