"""The files that W&B keeps of a run: one folder per attempt, and whether the server has all of it."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.runs.directory import RunDirectory
from aiayn.system import files

FOLDER = "wandb"
OFFLINE = "offline-"

PROGRAM = "aiayn"
"""Shown by W&B as the program of a run; its default is the process that trains, or the one that sends."""

REFUSED = ("filestream: fatal error", "file transfer: upload: failed")
"""In the client's debug log where it gave up sending data."""


STEP = "trainer/global_step"
"""The name that Lightning's logger gives to the optimizer step."""


@dataclass(frozen=True)
class Kept:
    """What can be read of an attempt's file, which W&B writes in blocks: a killed attempt lacks its end."""

    values: frozenset[tuple[int, str]]
    """Optimizer step and name of each number that was logged."""
    is_whole: bool
    """Whether it has everything up to the attempt's end."""


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
        return files.exists(self._mark)

    def kept(self) -> Kept | None:
        """What can be read of the file, by W&B's own command; None if that does not run."""
        command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(self.file.parent.absolute())]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            return None
        records: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
        items = [record["history"].get("item", {}) for record in records if record["type"] == "history"]
        values = frozenset((int(item[STEP]), name) for item in items if STEP in item for name in item)
        return Kept(values, is_whole=any(record["type"] == "exit" for record in records))

    def remove(self) -> None:
        """Remove the attempt's folder."""
        shutil.rmtree(self.file.parent)

    def mark_as_sent(self) -> None:
        """Exclude the attempt from later syncs."""
        self._mark.touch()

    def unmark(self) -> None:
        """Include the attempt in later syncs."""
        self._mark.unlink(missing_ok=True)

    @property
    def _mark(self) -> Path:
        return self.file.with_name(f"{self.file.name}.synced")


def mark_if_sent(folder: Path) -> None:
    """Mark an attempt that was online until its end, unless the server has permanently refused a part of it.

    W&B's client reports such a refusal only in its debug log: `finish` returns as usual, and the exit code is 0.
    Without this function, refused data would be neither sent again nor reported.
    """
    log = folder / "logs" / "debug-internal.log"
    if files.is_file(log) and not any(mark in log.read_text(encoding="utf-8", errors="replace") for mark in REFUSED):
        for file in folder.glob("run-*.wandb"):
            WandbAttempt(file).mark_as_sent()


def wandb_attempts(directory: RunDirectory) -> list[WandbAttempt]:
    """The attempts of a run with any W&B data, oldest first."""
    folders = [path for path in (directory.path / FOLDER).glob("*run-*") if not path.is_symlink()]  # latest-run is one
    in_order = sorted(folders, key=lambda path: path.name.removeprefix(OFFLINE))  # names begin with the time
    attempts = [file for folder in in_order for file in sorted(folder.glob("run-*.wandb"))]
    return [WandbAttempt(file) for file in attempts if file.stat().st_size]
