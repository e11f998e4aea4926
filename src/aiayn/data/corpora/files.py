"""Files named by the configuration."""

import glob
from collections.abc import Sequence
from pathlib import Path

from aiayn.data.lines import PACKED_ENDINGS
from aiayn.errors import UserError
from aiayn.system import files


def named_files(named: object, key: str, *, endings: Sequence[str] = ()) -> list[Path]:
    """Resolve the value of a configuration key: a path, a glob (its matches are sorted), or a list of those.

    With `endings`, a folder stands for all files below it with one of these endings, packed or not.

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


def _matches(pattern: str, key: str, endings: Sequence[str]) -> list[Path]:
    path = Path(pattern).expanduser()
    if files.is_dir(path, key=key):
        if not endings:
            raise UserError(f"{key}: {pattern} is a directory; name its files, for example {pattern.rstrip('/')}/*.gz")
        return _below(path, key, endings)
    if files.exists(path):  # including a name that looks like a glob
        return [path]
    if not glob.has_magic(pattern):
        raise UserError(f"{key}: {pattern} does not exist (relative to {Path.cwd()}); fix the path")
    named: list[Path] = []
    for match in sorted(glob.glob(str(path), recursive=True)):  # noqa: PTH207 - Path.glob takes no absolute pattern
        found = Path(match)
        if files.is_file(found, key=key):
            named.append(found)
        elif endings and files.is_dir(found):
            named += _below(found, key, endings)
    if not named:
        raise UserError(f"{key}: the glob {pattern} matches no file (relative to {Path.cwd()}); fix it")
    return named


def _below(folder: Path, key: str, endings: Sequence[str]) -> list[Path]:
    below = sorted(path for path in folder.rglob("*") if files.is_file(path, key=key))
    every = tuple(ending + packed for ending in endings for packed in ("", *PACKED_ENDINGS))
    if found := [path for path in below if path.name.endswith(every)]:
        return found
    packed = " or ".join(PACKED_ENDINGS)
    raise UserError(f"{key}: no file below {folder} ends in {', '.join(endings)} (or with {packed} added); name files")
