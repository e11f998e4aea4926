"""Treebanks in files of Penn brackets: sentences and their linearised trees (section 6.3)."""

import glob
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, final

from aiayn.data.corpora.corpus import Split, Task
from aiayn.data.corpora.files import named_files
from aiayn.data.grammar.tree import Tree
from aiayn.data.lines import file_entry, file_lines
from aiayn.errors import UserError
from aiayn.extensions.parsing.linearization import WORD, linearize
from aiayn.extensions.parsing.normalization import normalize
from aiayn.extensions.parsing.reading import read_trees
from aiayn.system import files

Part: TypeAlias = Split | Literal["silver"]

logger = logging.getLogger("aiayn")

ENDINGS = (".mrg", ".ptb", ".tree", ".trees")
"""Names of files with trees in a folder."""
TARGET_LANGUAGE = "brackets"
"""Language code of the target side."""

_VERSION = 1  # of the conversion of trees; part of the identity


def row(tree: Tree, *, tags: bool) -> tuple[str, str, str]:
    """Return the words, the linearised tree and the tree of a normalised tree, each on one line."""
    return " ".join(tree.words()), " ".join(linearize(tree, tags=tags)), str(tree)


@final
class TreebankCorpus:
    """Sentences and their normalised trees from files; trees that are empty after normalisation are skipped.

    Args:
        files: Paths, globs, folders or lists of them for each split, and for silver trees. Files of dev and test are
            excluded from training, so that train can be the rest of a folder.
        folder: Their parent folder; None: `files` are complete paths.
        tags: Whether targets have the words' tags instead of XX.
        gold_copies: How often the trees of train are repeated; silver trees follow once.
        language: ISO 639-1 code.
    """

    task: ClassVar[Task] = "parsing"
    target_language = TARGET_LANGUAGE

    def __init__(
        self, *, files: Mapping[Part, object], folder: str | None, tags: bool, gold_copies: int, language: str
    ) -> None:
        self.source_language = language
        self._named = {part: named for part, named in files.items() if named is not None}
        self._folder = folder
        self._tags = tags
        self._gold_copies = gold_copies
        self._excluded: dict[Part, int] = {}

    @property
    def identity(self) -> str:
        """SHA-256 over the settings and the bytes of all files in order, wherever they are."""
        digests = {part: [file["sha256"] for file in files] for part, files in self._read.items()}
        content = {**self._settings, "language": self.source_language, "files": digests}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, Any]:
        """The settings, and name and SHA-256 of each file in order by split."""
        return {**self._settings, "files": self._read}

    @property
    def _settings(self) -> dict[str, Any]:
        return {"kind": "trees", "version": _VERSION, "tags": self._tags, "gold_copies": self._gold_copies}

    @cached_property
    def _files(self) -> dict[Part, list[Path]]:
        files = {part: named_files(self._paths(part), f"data.{part}", endings=ENDINGS) for part in sorted(self._named)}
        held_out = {path.resolve() for path in (*files["dev"], *files["test"])}
        for part in ("train", "silver"):
            if part not in files:
                continue
            kept = [path for path in files[part] if path.resolve() not in held_out]
            if not kept:
                raise UserError(
                    f"data.{part}={self._named[part]}: all its files are in data.dev or data.test; name others"
                )
            if excluded := len(files[part]) - len(kept):
                self._excluded[part] = excluded
            files[part] = kept
        return files

    @cached_property
    def _read(self) -> dict[Part, list[dict[str, str]]]:
        return {part: [file_entry(path, f"data.{part}") for path in files] for part, files in self._files.items()}

    def _paths(self, part: Part) -> object:
        """Prepend the parent folder to the configured names."""
        named = self._named[part]
        if self._folder is None:
            return named
        if not files.is_dir(Path(self._folder).expanduser()):
            raise UserError(f"data.path={self._folder}: no such folder (relative to {Path.cwd()}); fix the path")
        return [_join(self._folder, str(name)) for name in (named if isinstance(named, list) else [named])]

    def rows(self, split: Split, *, start: int = 0) -> Iterator[tuple[str, str, str]]:
        """Read the words, linearised trees and trees of a split; a UserError if files are not readable as trees."""
        return islice(self._rows(split), start, None)

    def size(self, split: Split) -> None:
        """Return None: the number of trees is unknown before reading."""

    def _rows(self, split: Split) -> Iterator[tuple[str, str, str]]:
        files = self._files
        parts: list[Part] = [split]
        if split == "train":
            for part in [*self._excluded]:  # logged once
                logger.info("data.%s: excluded %d files of data.dev or data.test", part, self._excluded.pop(part))
            parts = parts * self._gold_copies + [part for part in files if part == "silver"]
        for part in parts:
            for path in files[part]:
                tags: set[str] = set()
                for tree in _trees(path, f"data.{part}"):
                    tags |= {*tree.tags()}
                    yield row(tree, tags=self._tags)
                if self._tags and tags == {WORD}:
                    raise UserError(
                        f"data.{part}: {path} has no tag but {WORD}, and data.tags=true needs tags; name trees with "
                        "tags, as aiayn parse writes with a run of data.tags=true, or set data.tags=false"
                    )


def _join(folder: str, name: str) -> str:
    """Join a folder, which is never a glob, and a name or glob."""
    path = Path(folder) / name
    return str(Path(glob.escape(folder)) / name) if glob.has_magic(name) and not files.exists(path) else str(path)


def _trees(path: Path, key: str) -> Iterator[Tree]:
    """Yield the normalised trees of a file."""
    try:
        for tree in read_trees(file_lines(path, key)):
            if (normalized := normalize(tree)) is not None:
                yield normalized
    except UserError:  # also a ValueError, and complete
        raise
    except ValueError as error:
        raise UserError(f"{key}: {path}, {error}; fix the file") from error
