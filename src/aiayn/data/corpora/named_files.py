"""Files that a configuration names: by path, glob, folder or list."""

import glob
import hashlib
from collections.abc import Sequence
from pathlib import Path

from aiayn.errors import UserError


def named_files(named: object, key: str, *, endings: Sequence[str] = ()) -> list[Path]:
    """Turn what the configuration names into files that exist.

    Args:
        named: a path, a glob (its matches sorted), or a list of those in order.
        key: the configuration key to blame.
        endings: of a folder, which may then be named too, the files below it whose names end so, gzip or not.

    Raises:
        UserError: there is no such file.
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
    """SHA-256 of a file's bytes.

    Raises:
        UserError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{key}: {path} cannot be read ({error.strerror}); mend the path or its permissions") from error


def _matches(pattern: str, key: str, endings: Sequence[str]) -> list[Path]:
    path = Path(pattern).expanduser()
    if path.is_dir():
        if not endings:
            raise UserError(f"{key}: {pattern} is a directory; name its files, for example {pattern.rstrip('/')}/*.gz")
        return _below(path, key, endings)
    if path.exists():  # also a name that looks like a glob
        return [path]
    if not glob.has_magic(pattern):
        raise UserError(f"{key}: {pattern} does not exist (looked from {Path.cwd()}); mend the path")
    found = [Path(each) for each in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 - Path.glob takes no absolute pattern
    files: list[Path] = []
    for each in found:
        if each.is_file():
            files.append(each)
        elif endings and each.is_dir():
            files += _below(each, key, endings)
    if not files:
        raise UserError(f"{key}: the glob {pattern} matches no file (looked from {Path.cwd()}); mend it")
    return files


def _below(folder: Path, key: str, endings: Sequence[str]) -> list[Path]:
    """The files of a folder and the folders in it, sorted."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and _has_ending(path, endings))
    if not found:
        raise UserError(f"{key}: no file below {folder} ends in {', '.join(endings)}, or so with .gz; name files")
    return found


def _has_ending(path: Path, endings: Sequence[str]) -> bool:
    return path.name.removesuffix(".gz").endswith(tuple(endings))
