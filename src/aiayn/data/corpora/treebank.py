"""Treebanks: files of Penn brackets, plain or gzip, as sentences and their linearised trees (section 6.3)."""

from __future__ import annotations

import glob
import hashlib
import json
import logging
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from aiayn.data.corpora.mapped_table import mapped_table
from aiayn.data.corpora.named_files import file_digest, named_files
from aiayn.data.lines import file_lines
from aiayn.errors import UserError
from aiayn.trees.linearization import WORD, linearize
from aiayn.trees.normalization import normalize
from aiayn.trees.reading import read_trees, write_tree

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from typing import Literal

    import datasets

    from aiayn.data.corpora.corpus import Split, Task
    from aiayn.trees.tree import Tree

    Part = Split | Literal["silver"]

logger = logging.getLogger("aiayn")

ENDINGS = (".mrg", ".ptb", ".tree", ".trees")
"""Of a folder's files that hold trees."""
COLUMNS = ("source", "target", "tree")
TARGET_LANGUAGE = "brackets"
"""What stands for the language of the target side."""

_VERSION = 1  # of what is made of a tree; part of the identity


def row(tree: Tree, *, tags: bool) -> tuple[str, str, str]:
    """The text of `COLUMNS`: words, linearised tree and tree, each on one line.

    Args:
        tree: normalised.
        tags: see `aiayn.trees.linearization.linearize`.
    """
    return " ".join(tree.words()), " ".join(linearize(tree, tags=tags)), write_tree(tree)


@final
class TreebankCorpus:
    """Sentences and their trees from files, normalised; trees of which nothing is left are passed over.

    Args:
        files: what the configuration names for each split, and as silver trees: paths, globs, folders or lists of them.
            A file that dev or test names is not trained on, so that train can be the rest of a folder.
        folder: where these lie; None: they are paths themselves.
        tags: whether targets have the words' tags, instead of XX.
        gold_times: how often the trees of train are there, before silver ones, each of which is there once.
        language: ISO 639-1 code of the words.
        cache_directory: see `aiayn.data.corpora.mapped_table.mapped_table`.
    """

    task: ClassVar[Task] = "parsing"
    target_language = TARGET_LANGUAGE

    def __init__(
        self,
        *,
        files: Mapping[Part, object],
        folder: str | None,
        tags: bool,
        gold_times: int,
        language: str,
        cache_directory: Path | None = None,
    ) -> None:
        self.source_language = language
        self._named = {part: named for part, named in files.items() if named is not None}
        self._folder = folder
        self._tags = tags
        self._gold_times = gold_times
        self._cache_directory = cache_directory
        self._left_out: dict[Part, int] = {}

    @property
    def identity(self) -> str:
        """SHA-256 over the settings and the bytes of all files in order; where they lie does not matter.

        Raises:
            UserError: a file is missing or cannot be read.
        """
        digests = {part: [digest for _, digest in files] for part, files in self._digests.items()}
        content = {**self._settings, "language": self.source_language, "files": digests}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, Any]:
        """The settings, and name and SHA-256 of each file in order by split, for a manifest."""
        files = {
            part: [{"file": path.name, "sha256": digest} for path, digest in files]
            for part, files in self._digests.items()
        }
        return {**self._settings, "files": files}

    @property
    def _settings(self) -> dict[str, Any]:
        return {"kind": "trees", "version": _VERSION, "tags": self._tags, "gold_times": self._gold_times}

    @cached_property
    def _files(self) -> dict[Part, list[Path]]:
        files = {part: named_files(self._placed(part), f"data.{part}", endings=ENDINGS) for part in sorted(self._named)}
        held_out = {path.resolve() for path in (*files["dev"], *files["test"])}
        for part in ("train", "silver"):
            if part not in files:
                continue
            kept = [path for path in files[part] if path.resolve() not in held_out]
            if not kept:
                raise UserError(
                    f"data.{part}={self._named[part]}: every file of it is one of data.dev or data.test; name others"
                )
            self._left_out[part] = len(files[part]) - len(kept)
            files[part] = kept
        return files

    @cached_property
    def _digests(self) -> dict[Part, list[tuple[Path, str]]]:
        return {
            part: [(path, file_digest(path, f"data.{part}")) for path in files] for part, files in self._files.items()
        }

    def _placed(self, part: Part) -> object:
        """What is named for a part, in the folder that it is of."""
        named = self._named[part]
        if self._folder is None:
            return named
        if not Path(self._folder).expanduser().is_dir():
            raise UserError(f"data.path={self._folder}: no such folder (looked from {Path.cwd()}); mend the path")
        return [_within(self._folder, str(each)) for each in (named if isinstance(named, list) else [named])]

    def split(self, split: Split) -> datasets.Dataset:
        """Return the split as a memory-mapped table with the text columns `COLUMNS`.

        Raises:
            UserError: files are missing, unreadable, empty, or hold something else than trees.
        """
        return mapped_table(self._rows(split), COLUMNS, key=f"data.{split}", cache_directory=self._cache_directory)

    def _rows(self, split: Split) -> Generator[tuple[str, ...]]:
        files = self._files
        parts: list[Part] = [split]
        if split == "train":
            for part, count in self._left_out.items():
                if count:
                    logger.info("data.%s: left out what data.dev or data.test names, files: %d", part, count)
            parts *= self._gold_times
            parts += ["silver"] if "silver" in self._named else []
        for part in parts:
            for path in files[part]:
                tags: set[str] = set()
                for tree in _trees(path, f"data.{part}"):
                    tags |= {*tree.tags()}
                    yield row(tree, tags=self._tags)
                if self._tags and tags == {WORD}:
                    raise UserError(
                        f"data.{part}: {path} has no tag but {WORD}, and data.tags=true learns tags; take trees that "
                        "have some, as aiayn parse writes them with a run of data.tags=true, or data.tags=false"
                    )


def _within(folder: str, name: str) -> str:
    """A name or glob in a folder, whose own name is no glob."""
    path = Path(folder) / name
    return str(Path(glob.escape(folder)) / name) if glob.has_magic(name) and not path.exists() else str(path)


def _trees(path: Path, key: str) -> Iterator[Tree]:
    """The normalised trees of a file.

    Raises:
        UserError: the file cannot be read, or something in it is no tree.
    """
    try:
        for tree in read_trees(file_lines(path, key)):
            if (normalized := normalize(tree)) is not None:
                yield normalized
    except UserError:  # a ValueError too; it says all
        raise
    except ValueError as error:
        raise UserError(f"{key}: {path}, {error}; mend the file") from error
