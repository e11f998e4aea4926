"""The files that W&B keeps of a run: one folder per attempt, and whether the server has all of it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from aiayn.runs.directory import RunDirectory
from aiayn.system import files
from aiayn.tracking.wandb_internals import Kept, has_refused, mark_of, read_kept

FOLDER = "wandb"
OFFLINE = "offline-"

PROGRAM = "aiayn"
"""Shown by W&B as the program of a run; its default is the process that trains, or the one that sends."""


@dataclass(frozen=True)
class WandbAttempt:
    """One attempt of a run as written by W&B, online or offline.

    `wandb sync` marks a sent file by an empty file beside it and skips marked files. It does not mark data that was
    sent during the run; `mark_if_sent` does.
    """

    file: Path
    """`run-<id>.wandb`: all data, in the order of logging."""

    @property
    def is_sent(self) -> bool:
        """Whether the server has all data."""
        return files.exists(mark_of(self.file))

    def kept(self) -> Kept | None:
        """What can be read of the file; None if W&B's command for it does not run."""
        return read_kept(self.file.parent)

    def remove(self) -> None:
        """Remove the attempt's folder."""
        shutil.rmtree(self.file.parent)

    def mark_as_sent(self) -> None:
        """Exclude the attempt from later syncs."""
        mark_of(self.file).touch()

    def unmark(self) -> None:
        """Include the attempt in later syncs."""
        mark_of(self.file).unlink(missing_ok=True)


def mark_if_sent(folder: Path) -> None:
    """Mark an attempt that was online until its end, unless the server has permanently refused a part of it.

    W&B's client reports such a refusal only in its debug log: `finish` returns as usual, and the exit code is 0.
    Without this function, refused data would be neither sent again nor reported.
    """
    if not has_refused(folder):
        for file in folder.glob("run-*.wandb"):
            WandbAttempt(file).mark_as_sent()


def wandb_attempts(directory: RunDirectory) -> list[WandbAttempt]:
    """The attempts of a run with any W&B data, oldest first."""
    folders = [path for path in (directory.path / FOLDER).glob("*run-*") if not path.is_symlink()]  # latest-run is one
    in_order = sorted(folders, key=lambda path: path.name.removeprefix(OFFLINE))  # names begin with the time
    attempts = [file for folder in in_order for file in sorted(folder.glob("run-*.wandb"))]
    return [WandbAttempt(file) for file in attempts if file.stat().st_size]
