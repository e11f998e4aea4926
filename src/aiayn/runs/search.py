"""The search for runs below a folder: links are followed, and each run is found once."""

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory
from aiayn.system import files


@dataclass(frozen=True)
class Found:
    """A run directory, or a folder in which no run can be looked for."""

    directory: RunDirectory
    failure: str | None = None
    """Why the folder cannot be searched, and what to do; None for a run."""


def search_runs(runs: Path) -> list[Found]:
    """The runs below a folder by path, without published runs and replays, and the folders that cannot be searched.

    A folder that links lead to in several ways is searched once, under its own path if that is below `runs`. A run has
    no runs inside it.

    Raises:
        UserError: there is no such folder, or it cannot be read.
    """
    found = sorted(_search(runs), key=lambda each: each.directory.path)
    for each in found:
        if each.failure is not None and each.directory.path == runs:
            raise UserError(f"paths.runs={each.failure}")
    return found


def run_directories(runs: Path) -> list[RunDirectory]:
    """Those of the runs below a folder that can be found; errors as of `search_runs`."""
    return [each.directory for each in search_runs(runs) if each.failure is None]


def _search(runs: Path) -> Iterator[Found]:
    seen: set[tuple[int, int]] = set()
    waiting = deque([runs])  # links at its end, so that a folder below `runs` is found under its own path
    while waiting:
        folder = waiting.popleft()
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as listed:
                entries = list(listed)
        except OSError as error:
            if failure := _failure(folder, error, is_asked_for=folder == runs):
                yield Found(RunDirectory(folder), failure)
            continue
        names, directory = {entry.name for entry in entries}, RunDirectory(folder)
        is_run = directory.record.name in names and not {directory.weights.name, directory.replay_file.name} & names
        if is_run:
            yield Found(directory)
        if not is_run or folder == runs:
            waiting.extendleft(folder / entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
            waiting.extend(sorted(folder / entry.name for entry in entries if entry.is_symlink()))


def _failure(folder: Path, error: OSError, *, is_asked_for: bool) -> str | None:
    """What hides the runs of a folder; None for a link to a file, and for what was removed during the search."""
    is_missing = isinstance(error, FileNotFoundError)
    if is_asked_for and (is_missing or isinstance(error, NotADirectoryError)):
        return f"{folder}: no such folder; aiayn train makes it, or name another"
    if is_missing and folder.is_symlink() and not folder.name.startswith("."):
        return f"{folder}: a link to {folder.readlink()}, which is not there; mount or restore it, or remove the link"
    if is_missing or isinstance(error, NotADirectoryError):
        return None
    return f"{folder}: cannot be searched for runs ({error.strerror}); give yourself access to it"


def name_below(runs: Path, path: Path) -> str | None:
    """The path of a run directory in the folder of runs, where it may be linked; None if it is not there."""
    own, folder = (Path(os.path.abspath(each)) for each in (path, runs))  # noqa: PTH100 - resolve() would follow links
    if own.is_relative_to(folder):
        return str(own.relative_to(folder))
    found = run_directories(runs) if files.is_dir(runs) else ()
    return next((str(each.path.relative_to(runs)) for each in found if each.path.resolve() == path.resolve()), None)
