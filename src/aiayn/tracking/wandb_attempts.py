"""What W&B has kept on disk of a run: a folder for each attempt, and whether the server has all of it."""

from dataclasses import dataclass
from pathlib import Path

from aiayn.runs.directory import RunDirectory

FOLDER = "wandb"
OFFLINE = "offline-"

PROGRAM = "aiayn"
"""What W&B notes as the program of a run; by itself it would name the process that trains, or that sends."""

REFUSED = ("filestream: fatal error", "file transfer: upload: failed")
"""What W&B writes into its log where it has given up to send a part."""


@dataclass(frozen=True)
class WandbAttempt:
    """One attempt of a run as W&B has written it down, whether it was online or not.

    W&B's client marks a file that it has sent by an empty one beside it, and leaves out what is marked. Of what is sent
    while a run goes on it makes no mark; `WandbTracker` does.
    """

    file: Path
    """`run-<id>.wandb`: everything, in the order in which it was logged."""

    @property
    def run_id(self) -> str:
        """The id of the W&B run; attempts of one run have one id, but for those that an agent named."""
        return self.file.stem.removeprefix("run-")

    @property
    def is_sent(self) -> bool:
        """Whether the server has it all."""
        return self._mark.exists()

    def mark_as_sent(self) -> None:
        """Have it left out from now on."""
        self._mark.touch()

    def unmark(self) -> None:
        """Have it sent again."""
        self._mark.unlink(missing_ok=True)

    @property
    def _mark(self) -> Path:
        return self.file.with_name(f"{self.file.name}.synced")


def mark_if_sent(folder: Path) -> None:
    """Mark an attempt that was online to its end, unless W&B's log says that the server refused a part of it.

    W&B tells nobody else: to the run such an attempt ends as any other.

    Args:
        folder: of the attempt.
    """
    log = folder / "logs" / "debug-internal.log"
    if log.is_file() and not any(mark in log.read_text(encoding="utf-8", errors="replace") for mark in REFUSED):
        for file in folder.glob("run-*.wandb"):
            WandbAttempt(file).mark_as_sent()


def wandb_attempts(directory: RunDirectory) -> list[WandbAttempt]:
    """The attempts of a run in which W&B has written anything, the earliest first."""
    folders = [path for path in (directory.path / FOLDER).glob("*run-*") if not path.is_symlink()]  # latest-run is one
    in_order = sorted(folders, key=lambda path: path.name.removeprefix(OFFLINE))  # which begin with the time
    files = [file for folder in in_order for file in sorted(folder.glob("run-*.wandb"))]
    return [WandbAttempt(file) for file in files if file.stat().st_size]
