"""Parallel corpora of the Hugging Face hub, or in a local folder of the same shape."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from aiayn.config.errors import UserError
from aiayn.data.corpus import SPLITS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import datasets

    from aiayn.data.corpus import Split

_INSTEAD = "or read files: data=text_files data.train.source=... data.train.target=..."
_TEXT = frozenset({"string", "large_string"})
_LINE_BREAK = re.compile(r"\s*\n\s*")


@final
class HubCorpus:
    """Sentence pairs of a data set in one of the hub's two shapes.

    Either a column `translation` holds both languages, `{"en": ..., "de": ...}`, or each language is a column of text.
    A line break within a sentence is read as a space, for a corpus has one sentence a line.

    Args:
        path: Repository on the hub, such as `wmt14`, or a local folder of parquet or JSON-lines files.
        name: Name of a configuration inside the data set, or none.
        source_language: ISO 639-1 code of the source side.
        target_language: ISO 639-1 code of the target side.
        splits: The data set's names of our splits; slices such as `train[:1%]` are understood.
        revision: Commit, branch or tag on the hub; none is the newest.
        cache_directory: Folder for what is downloaded; the hub's own cache if not given.
    """

    def __init__(
        self,
        *,
        path: str,
        name: str | None,
        source_language: str,
        target_language: str,
        splits: Mapping[Split, str],
        revision: str | None,
        cache_directory: Path | None = None,
    ) -> None:
        self.source_language = source_language
        self.target_language = target_language
        self._path = path
        self._name = name
        self._splits = dict(splits)
        self._revision = revision
        self._cache_directory = cache_directory
        self._loaded: dict[Split, Any] = {}

    @cached_property
    def identity(self) -> str:
        """SHA-256 over what was asked for and the fingerprints of the data that answered.

        Raises:
            UserError: as `split`.
        """
        content = {
            "kind": "hub",
            "data set": [self._path, self._name, self._revision],
            "languages": [self.source_language, self.target_language],
            # The fingerprint is over the files' revision on the hub, or the local files' times; it has no public name.
            "splits": [(split, self._splits[split], self._load(split)._fingerprint) for split in SPLITS],  # noqa: SLF001
        }
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def split(self, split: Split) -> datasets.Dataset:
        """Return the split as a memory-mapped table with the text columns `source` and `target`.

        Raises:
            UserError: the hub cannot be reached, or the data set, its configuration, its split or its columns are not
                there.
        """
        table = self._columns(self._load(split), split)
        return table.with_transform(_one_line_each)

    def _load(self, split: Split) -> datasets.Dataset:
        if split not in self._loaded:
            self._loaded[split] = self._fetch(split)
        return self._loaded[split]

    def _fetch(self, split: Split) -> datasets.Dataset:
        import datasets

        cache = None if self._cache_directory is None else str(self._cache_directory)
        try:
            return datasets.load_dataset(
                self._path, self._name, split=self._splits[split], revision=self._revision, cache_dir=cache
            )
        except ConnectionError as error:
            raise UserError(
                f"data.path={self._path}: the Hugging Face hub cannot be reached; connect, name a folder, {_INSTEAD}"
            ) from error
        except FileNotFoundError as error:
            raise UserError(
                f"data.path={self._path}: no such data set at revision {self._revision or 'main'} and no folder with "
                f"data; mend data.path or data.revision, {_INSTEAD}"
            ) from error
        except (ValueError, datasets.exceptions.DatasetGenerationError) as error:
            raise UserError(
                f"data.path={self._path} has no split data.splits.{split}={self._splits[split]} in data.subset="
                f"{self._name} that can be read: {_first_line(error)}"
            ) from error

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
    return {
        column: [_LINE_BREAK.sub(" ", text) if "\n" in text else text for text in texts]
        for column, texts in batch.items()
    }


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
