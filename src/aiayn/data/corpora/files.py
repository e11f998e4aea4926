"""Files named by the configuration, and tables of text on disk."""

from __future__ import annotations

import glob
import hashlib
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aiayn.errors import UserError
from aiayn.system.scratch import make_scratch, remove_scratch

if TYPE_CHECKING:
    from collections.abc import Generator

    import datasets

_CHUNK = 10_000


def named_files(named: object, key: str, *, endings: Sequence[str] = ()) -> list[Path]:
    """Resolve a configuration value to existing files.

    Args:
        named: A path, a glob (its matches are sorted), or a list of those.
        key: Configuration key named in errors.
        endings: Where given, a folder may be named too: all files below it with one of these endings, gzip or not.

    Raises:
        UserError: There is no such file.
    """
    patterns = [named] if isinstance(named, str) else named
    if not isinstance(patterns, Sequence) or not patterns:
        raise UserError(f"{key}={named!r} names no file; give a path, a glob or a list of them")
    paths: list[Path] = []
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern:
            raise UserError(f"{key} has the entry {pattern!r}, which is no path; give paths or globs")
        paths += _matches(pattern, key, endings)
    return paths


def file_digest(path: Path, key: str) -> str:
    """Return the SHA-256 of a file.

    Raises:
        UserError: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{key}: {path} cannot be read ({error.strerror}); fix the path or its permissions") from error


def _matches(pattern: str, key: str, endings: Sequence[str]) -> list[Path]:
    path = Path(pattern).expanduser()
    if path.is_dir():
        if not endings:
            raise UserError(f"{key}: {pattern} is a directory; name its files, for example {pattern.rstrip('/')}/*.gz")
        return _below(path, key, endings)
    if path.exists():  # including a name that looks like a glob
        return [path]
    if not glob.has_magic(pattern):
        raise UserError(f"{key}: {pattern} does not exist (relative to {Path.cwd()}); fix the path")
    files: list[Path] = []
    for match in sorted(glob.glob(str(path), recursive=True)):  # noqa: PTH207 - Path.glob takes no absolute pattern
        found = Path(match)
        if found.is_file():
            files.append(found)
        elif endings and found.is_dir():
            files += _below(found, key, endings)
    if not files:
        raise UserError(f"{key}: the glob {pattern} matches no file (relative to {Path.cwd()}); fix it")
    return files


def _below(folder: Path, key: str, endings: Sequence[str]) -> list[Path]:
    suffixes = tuple(endings)
    found = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name.removesuffix(".gz").endswith(suffixes)
    )
    if not found:
        raise UserError(f"{key}: no file below {folder} ends in {', '.join(endings)} (or with .gz added); name files")
    return found


def scratch_folder(directory: Path | None, prefix: str) -> Path:
    """Create a folder for temporary tables.

    Args:
        directory: Parent folder; None: the system's temporary folder.
        prefix: Of the folder's name.

    Raises:
        UserError: It cannot be created.
    """
    try:
        return make_scratch(directory or Path(tempfile.gettempdir()), prefix=prefix)
    except OSError as error:
        raise UserError(f"cannot create {error.filename} ({error.strerror}); change paths.cache") from error


def mapped_table(
    rows: Generator[tuple[str, ...]], columns: Sequence[str], *, key: str, cache_directory: Path | None
) -> datasets.Dataset:
    """Write rows of text to a memory-mapped table; its file is removed when the table is garbage-collected.

    Args:
        rows: One text per column each.
        columns: Column names.
        key: Configuration key named in errors.
        cache_directory: Where to write; None: the system's temporary folder.

    Raises:
        UserError: There is no row, or the file cannot be written.
    """
    import datasets
    from datasets.arrow_writer import ArrowWriter

    folder = scratch_folder(cache_directory, "text-files-")
    try:
        features = datasets.Features({name: datasets.Value("string") for name in columns})
        # Dataset.from_generator would keep a copy in the user's home and hide the messages of errors.
        with closing(rows), ArrowWriter(path=str(folder / "rows.arrow"), features=features) as writer:
            while chunk := list(islice(rows, _CHUNK)):
                writer.write_batch(dict(zip(columns, map(list, zip(*chunk, strict=True)), strict=True)))
            count, _ = writer.finalize()
        if count == 0:
            raise UserError(f"{key}: the files hold no sentence; name others")
        table = datasets.Dataset.from_file(str(folder / "rows.arrow"))
    except OSError as error:
        remove_scratch(folder)
        raise UserError(f"{key}: cannot write to {folder} ({error.strerror}); free or change it") from error
    except BaseException:
        remove_scratch(folder)
        raise
    weakref.finalize(table, remove_scratch, folder)
    return table
