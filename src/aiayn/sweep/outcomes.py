"""The outcomes of a multirun's jobs, as files: launchers run the jobs in other processes, or on other hosts."""

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from omegaconf import DictConfig

from aiayn.config.difference import swept_words
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import SweptJob
from aiayn.runs.record import json_text
from aiayn.system import files
from aiayn.system.documents import read_json
from aiayn.system.scratch import make_scratch, remove_scratch

STOP = "stop"

PREFIX = ".jobs-"
"""Of the names of such folders."""


@dataclass(frozen=True)
class Outcome:
    """The state of one job that has begun."""

    number: int
    """In the order of the sweep."""
    overrides: tuple[str, ...]
    """All but those of Hydra's own keys."""
    process: int
    swept: SweptJob | None
    """Of `aiayn train`: its line in the table of the sweep."""
    has_ended: bool = False
    failure: str | None = None
    """Why it was refused or failed, in one line."""
    held: str | None = None
    """The run directory that another process holds, and that process; the job runs later."""
    is_lost: bool = False
    """Whether a scheduler ended it before it could write its outcome."""
    was_killed: bool = False
    """Whether a process of the job was killed: it may go on from its checkpoint."""
    is_shown: bool = False
    """Whether the failure has been printed."""
    result: dict[str, Any] | None = None
    """The fields of the value that the command returned; in the file, and then as read, null for infinite numbers."""

    @classmethod
    def begun(cls, number: int, composed: DictConfig, overrides: tuple[str, ...]) -> Self:
        """A job that this process begins."""
        swept = None
        if "identity" in composed:
            runs = Path(composed.paths.runs).expanduser().absolute()
            swept = SweptJob(
                experiment=composed.identity.experiment,
                seed=composed.seed,
                overrides=overrides,
                directory=RunDirectory(runs / composed.identity.name),
                swept=tuple(swept_words(composed).values()),
            )
        return cls(number, overrides, os.getpid(), swept)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read it from its file; UserError if that is damaged."""
        content: dict[str, Any] = read_json(path, remedy="rerun the command")
        content["overrides"] = tuple(content["overrides"])
        if job := content["swept"]:
            job["directory"] = RunDirectory(Path(job["directory"]["path"]))
            content["swept"] = SweptJob(**job | {key: tuple(job[key]) for key in ("overrides", "swept")})
        return cls(**content)


@dataclass(frozen=True)
class OutcomeFolder:
    """The folder of one multirun's outcomes, among the runs: every process of the multirun can reach it."""

    path: Path

    @classmethod
    def make(cls, runs: Path) -> Self:
        """Make an empty one for the multirun of this process."""
        return cls(make_scratch(runs.absolute(), prefix=PREFIX))

    def remove(self) -> None:
        """Remove it; later outcomes are dropped."""
        remove_scratch(self.path)

    def write(self, outcome: Outcome) -> None:
        """Write the state of a job, unless the folder has been removed."""
        if files.is_dir(self.path):
            text = json.dumps(dataclasses.asdict(outcome), default=str, ensure_ascii=False)
            content = json.loads(text.encode(errors="replace"))  # a path in a failure may not be UTF-8
            files.write_text(self.path / f"{outcome.number}.json", json_text(content))

    def read(self) -> list[Outcome]:
        """Every job that has begun, in the order of the sweep."""
        return sorted(map(Outcome.read, self.path.glob("*.json")), key=lambda outcome: outcome.number)

    def stop(self) -> None:
        """Let no further job begin."""
        (self.path / STOP).touch()

    @property
    def is_stopped(self) -> bool:
        """Whether no further job may begin."""
        return files.exists(self.path / STOP)
