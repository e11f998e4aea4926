"""Parallel corpora in plain or gzip text files: one sentence a line, both sides line by line translations."""

from __future__ import annotations

import glob
import hashlib
import json
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from aiayn.config.errors import UserError
from aiayn.data.lines import aligned_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    import datasets

    from aiayn.data.corpus import Split

_CHUNK = 10_000


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
            split: [[(path, _digest(path, f"data.{split}")) for path in pair] for pair in self._paired(split)]
            for split in sorted(self._files)
        }

    def split(self, split: Split) -> datasets.Dataset:
        """Return the split as a memory-mapped table with the text columns `source` and `target`.

        Raises:
            UserError: files are missing, unreadable, empty or not aligned.
        """
        import datasets
        from datasets.arrow_writer import ArrowWriter

        pairs = self._pairs(split)
        folder = self._scratch_folder()
        try:
            features = datasets.Features({"source": datasets.Value("string"), "target": datasets.Value("string")})
            # Not Dataset.from_generator: it keeps a copy for ever, in the user's home, and hides the errors' messages.
            with closing(pairs), ArrowWriter(path=str(folder / "pairs.arrow"), features=features) as writer:
                while chunk := list(islice(pairs, _CHUNK)):
                    sources, targets = zip(*chunk, strict=True)
                    writer.write_batch({"source": list(sources), "target": list(targets)})
                count, _ = writer.finalize()
            if count == 0:
                raise UserError(f"data.{split}: the files hold no sentence; name others")
            table = datasets.Dataset.from_file(str(folder / "pairs.arrow"))
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise UserError(f"data.{split}: cannot write to {folder} ({error.strerror}); free or change it") from error
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(table, shutil.rmtree, folder, ignore_errors=True)
        return table

    def _scratch_folder(self) -> Path:
        try:
            if self._cache_directory is not None:
                self._cache_directory.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix="text-files-", dir=self._cache_directory))
        except OSError as error:
            raise UserError(f"cannot create {error.filename} ({error.strerror}); change paths.cache") from error

    def _pairs(self, split: Split) -> Generator[tuple[str, str]]:
        for source, target in self._paired(split):
            yield from aligned_lines(source, target, f"data.{split}.")

    def _paired(self, split: Split) -> list[tuple[Path, Path]]:
        if split not in self._files:
            raise UserError(f"data.{split} is not set; name its files: data.{split}.source=... data.{split}.target=...")
        files = self._files[split]
        sources = _resolve(files.source, f"data.{split}.source")
        targets = _resolve(files.target, f"data.{split}.target")
        if len(sources) != len(targets):
            raise UserError(
                f"data.{split}.source names {len(sources)} files and data.{split}.target {len(targets)}; "
                f"name as many on both sides (first: {sources[0]} and {targets[0]})"
            )
        return list(zip(sources, targets, strict=True))


def _resolve(named: object, key: str) -> list[Path]:
    """Turn what the configuration names into files that exist."""
    patterns = [named] if isinstance(named, str) else named
    if not isinstance(patterns, Sequence) or not patterns:
        raise UserError(f"{key}={named!r} names no file; give a path, a glob or a list of them")
    paths: list[Path] = []
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern:
            raise UserError(f"{key} has the entry {pattern!r}, which is no path; give paths or globs")
        paths += _matches(pattern, key)
    return paths


def _matches(pattern: str, key: str) -> list[Path]:
    path = Path(pattern).expanduser()
    if path.is_dir():
        raise UserError(f"{key}: {pattern} is a directory; name its files, for example {pattern.rstrip('/')}/*.gz")
    if path.exists():  # also a name that looks like a glob
        return [path]
    if not glob.has_magic(pattern):
        raise UserError(f"{key}: {pattern} does not exist (looked from {Path.cwd()}); mend the path")
    found = [Path(each) for each in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 - Path.glob takes no absolute pattern
    files = [each for each in found if each.is_file()]
    if not files:
        raise UserError(f"{key}: the glob {pattern} matches no file (looked from {Path.cwd()}); mend it")
    return files


def _digest(path: Path, key: str) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{key}: {path} cannot be read ({error.strerror}); mend the path or its permissions") from error
