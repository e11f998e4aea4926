"""The jobs of one command line: a single one, or those of a multirun, whose folder other people may share."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from aiayn.config.errors import RunFailedError, UserError
from aiayn.runs.directory import HeldDirectoryError, RunDirectory
from aiayn.runs.ledger import SweptJob

logger = logging.getLogger("aiayn")

Failure = UserError | RunFailedError | BrokenPipeError

POLL_SECONDS = 1.0
"""Between two looks at the directories that others hold."""


@dataclass
class Job:
    """One configuration that Hydra composed, and what came of it."""

    composed: DictConfig
    hydra: HydraConf
    """Hydra's own node, which expressions in `composed` refer to."""
    failure: Failure | None = None
    outcome: Any = None
    """What the command returned of it."""

    @property
    def held(self) -> HeldDirectoryError | None:
        """Who is at it, where another process is."""
        return self.failure if isinstance(self.failure, HeldDirectoryError) else None

    def attempt(self, main: Callable[[DictConfig], object]) -> None:
        """Do it; a failure is kept and not raised, since past Hydra it would come with Hydra's remarks."""
        self.failure = None
        try:
            with self._current():
                self.outcome = main(self.composed)
        except (UserError, RunFailedError, BrokenPipeError) as error:
            self.failure = error

    def swept(self) -> SweptJob:
        """What the table of a sweep says of a run of `aiayn train`."""
        with self._current():
            identity = self.composed.identity
            return SweptJob(
                experiment=identity.experiment,
                seed=self.composed.seed,
                overrides=tuple(HydraConfig.get().overrides.task),
                directory=RunDirectory(Path(self.composed.paths.runs).expanduser() / identity.name),
            )

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Let expressions such as `${hydra:runtime.choices.scale}` mean this job."""
        hydra = HydraConfig.instance()
        before, hydra.cfg = hydra.cfg, self.hydra
        try:
            yield
        finally:
            hydra.cfg = before


class Jobs:
    """In the order in which Hydra hands them over."""

    def __init__(self, main: Callable[[DictConfig], object], *, complain: Callable[[str], None]) -> None:
        """Begin with none.

        Args:
            main: does one job.
            complain: is told of a job of a multirun that failed, at once.
        """
        self._main = main
        self._complain = complain
        self.all: list[Job] = []
        self.are_a_multirun = False
        """Whether a failing job stops no other; known with the first one."""
        self.show: Callable[[], None] | None = None
        """Says at the end what came of all, for a sweeper that does it in words of its own."""

    @property
    def failures(self) -> list[Failure]:
        """Of the jobs that failed."""
        return [job.failure for job in self.all if job.failure is not None]

    @property
    def outcomes(self) -> list[Any]:
        """What the command returned of those that did not fail."""
        return [job.outcome for job in self.all if job.failure is None]

    def do(self, composed: DictConfig) -> None:
        """Do a job as soon as Hydra has composed it; one of a multirun that another process is at is left for later."""
        whole = HydraConfig.instance().cfg
        assert whole is not None
        self.are_a_multirun = HydraConfig.get().mode is RunMode.MULTIRUN
        job = Job(composed, whole)
        self.all.append(job)
        job.attempt(self._main)
        if self.are_a_multirun and job.held is not None:
            logger.info("%s: %s is running here; left for later", job.held.path, job.held.holder)
        elif self.are_a_multirun:
            self._report(job)

    def do_those_left(self) -> None:
        """Wait for the jobs that other processes are at, and show each, or take it up where it was not finished."""
        left = [job for job in self.all if job.held is not None]
        if left:
            holders = ", ".join(f"{held.path} ({held.holder})" for job in left if (held := job.held) is not None)
            logger.info("waiting for what others are running: %s; Ctrl-C ends the waiting", holders)
        while left:
            for job in left:
                if "force" in job.composed:
                    job.composed.force = False  # who held it has started it anew, if anybody should
                job.attempt(self._main)
                if job.held is None:
                    self._report(job)
            left = [job for job in left if job.held is not None]
            if left:
                time.sleep(POLL_SECONDS)

    def _report(self, job: Job) -> None:
        if job.failure is not None:
            self._complain(str(job.failure))


JOBS: ContextVar[Jobs] = ContextVar("jobs")
"""Those of the command line under way, for a sweeper: Hydra makes it, and hands it nothing of ours."""
