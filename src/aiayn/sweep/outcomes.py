"""What becomes of the jobs of a multirun, told in files: launchers do them in other processes, or on other hosts."""

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
from aiayn.system import files
from aiayn.system.scratch import make_scratch, remove_scratch

STOP = "stop"

PREFIX = ".jobs-"
"""What the names of such folders begin with."""


@dataclass(frozen=True)
class Outcome:
    """One job, from the moment that it begins."""

    number: int
    """In the order of the sweep."""
    overrides: tuple[str, ...]
    """All that it was composed with, Hydra's own keys aside."""
    process: int
    host: str
    swept: SweptJob | None
    """What the table of a sweep says of a run of `aiayn train`."""
    has_ended: bool = False
    failure: str | None = None
    """Why it was refused or failed, in one line."""
    held: str | None = None
    """The directory that another process is at, and who that is; the job was then left for later."""
    is_lost: bool = False
    """Whether it was ended, by a scheduler, before it could say so itself."""
    is_told: bool = False
    """Whether the user has read of the failure."""
    result: dict[str, Any] | None = None
    """What the command returned, field by field."""

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
        return cls(number, overrides, os.getpid(), os.uname().nodename, swept)

    @classmethod
    def read(cls, path: Path) -> Self:
        """As it was written."""
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        content["overrides"] = tuple(content["overrides"])
        if content["swept"] is not None:
            directory = RunDirectory(Path(content["swept"]["directory"]["path"]))
            words = tuple(content["swept"]["swept"])
            content["swept"] |= {"overrides": content["overrides"], "directory": directory, "swept": words}
            content["swept"] = SweptJob(**content["swept"])
        return cls(**content)

    def text(self) -> str:
        """As JSON."""
        return json.dumps(dataclasses.asdict(self), default=str)


@dataclass(frozen=True)
class OutcomeFolder:
    """The folder of one multirun's outcomes: it lies among the runs, which every process of the multirun can reach."""

    path: Path

    @classmethod
    def make(cls, runs: Path) -> Self:
        """An empty one for the multirun of this process."""
        return cls(make_scratch(runs.absolute(), prefix=PREFIX))

    def remove(self) -> None:
        """Take it away; what is written afterwards is lost."""
        remove_scratch(self.path)

    def write(self, outcome: Outcome) -> None:
        """Tell how a job stands, unless nobody asks any more."""
        if self.path.is_dir():
            files.write_text(self.path / f"{outcome.number}.json", outcome.text())

    def read(self) -> list[Outcome]:
        """Every job that has begun, in the order of the sweep."""
        return sorted(map(Outcome.read, self.path.glob("*.json")), key=lambda outcome: outcome.number)

    def stop(self) -> None:
        """Let no further job begin."""
        (self.path / STOP).touch()

    @property
    def is_stopped(self) -> bool:
        """Whether no further job may begin."""
        return (self.path / STOP).exists()
