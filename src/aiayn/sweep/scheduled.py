"""The jobs of a sweep in other processes: the interface of the schedulers that place them, here or elsewhere."""

import logging
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, run_job, setup_globals
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict

from aiayn.config import compose
from aiayn.config.schema import TrainConfig
from aiayn.config.values import check_values
from aiayn.errors import UserError
from aiayn.runs.directory import HeldDirectoryError, RunDirectory
from aiayn.runs.record import Status, is_finished, read_record, utc_now
from aiayn.sweep.jobs import Task, checked
from aiayn.sweep.launchers import jobs_of
from aiayn.sweep.outcomes import Outcome
from aiayn.system import files
from aiayn.system.signals import signals_as_interrupts

Shape = TypeVar("Shape")
"""The resources of a job."""

Settings = TypeVar("Settings")
"""The dataclass of a launcher's settings."""


def launcher_settings(composed: DictConfig, kind: type[Settings]) -> Settings:
    """`hydra.launcher` as its dataclass; UserError if a value is out of range."""
    settings = OmegaConf.to_object(composed.hydra.launcher)
    assert isinstance(settings, kind)
    check_values(settings, "hydra.launcher.")
    return settings


@dataclass(frozen=True)
class Job(Generic[Shape]):
    """One job of a sweep, before it is submitted."""

    words: tuple[str, ...]
    """Its overrides."""
    index: int
    """Among the jobs of this launch."""
    shape: Shape
    outcome: Outcome
    """Its state before it begins."""


@dataclass(frozen=True)
class Starter:
    """Composes and runs a job, in this process or one of the scheduler; pickled on the way there."""

    composed: DictConfig
    """The configuration of the sweep."""
    context: HydraContext
    task: Task
    state: dict[type, Singleton]

    def __call__(self, words: Sequence[str], index: int) -> None:
        """Run a job in a process of a scheduler, in which nothing has been set up."""
        _ = self.returned(words, index).return_value  # raises what the job raised

    def returned(self, words: Sequence[str], index: int) -> JobReturn:
        """Run the job, and return its value or its exception."""
        logging.getLogger("submitit").setLevel(logging.WARNING)
        compose.register()
        Singleton.set_state(self.state)
        setup_globals()
        for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_DFL)  # submitit's handlers would requeue the job without a checkpoint
        with signals_as_interrupts():
            return self.run(words, index)

    def run(self, words: Sequence[str], index: int) -> JobReturn:
        """Run a job in this process."""
        return run_job(
            hydra_context=self.context,
            task_function=self.task,
            config=self._compose(words, index),
            job_dir_key="hydra.sweep.dir",
            job_subdir_key="hydra.sweep.subdir",
        )

    @contextmanager
    def composed_job(self, words: Sequence[str], index: int) -> Iterator[tuple[DictConfig, HydraConf]]:
        """The configuration of a job, and Hydra's node of it, to which expressions in it refer."""
        outside = HydraConfig.instance().cfg
        composed = compose.without_hydra(self._compose(words, index))
        try:
            yield composed, HydraConfig.get()
        finally:
            HydraConfig.instance().cfg = outside

    def _compose(self, words: Sequence[str], index: int) -> DictConfig:
        job: DictConfig = self.context.config_loader.load_sweep_config(self.composed, [*words])
        with open_dict(job):
            job.hydra.job.id, job.hydra.job.num = str(index), index
        return job


class Scheduler(Protocol[Shape]):
    """Places jobs: `aiayn.sweep.joblib` on this machine, `aiayn.extensions.cluster` on others."""

    def shape_of(self, config: TrainConfig | None) -> Shape:
        """The resources of a run, or of a job of another command; UserError if they cannot be had."""

    def run(self, starter: Starter, jobs: Sequence[Job[Shape]]) -> None:
        """Run the jobs to their ends; each writes its outcome, or has it written."""


def launch(starter: Starter, scheduler: Scheduler[Shape], jobs: Sequence[Sequence[str]], *, first: int) -> None:
    """Run the jobs of a sweep by a scheduler; finished runs are not queued on other machines, but shown here.

    Args:
        starter: composes and runs a job.
        scheduler: places it.
        jobs: the overrides of each.
        first: the number of the first one.
    """
    prepared = [_prepare(starter, scheduler, words, index) for index, words in enumerate(jobs, first)]
    if waiting := [job for job in prepared if job is not None]:
        scheduler.run(starter, waiting)


def _prepare(starter: Starter, scheduler: Scheduler[Shape], words: Sequence[str], index: int) -> Job[Shape] | None:
    """The job to submit; None where it was refused, or has finished and was shown."""
    with starter.composed_job(words, index) as (composed, hydra):
        outcome = Outcome.begun(starter.task.number(index), composed, tuple(hydra.overrides.task))
        config = None
        try:
            if hydra.job.config_name == "train":
                assert outcome.swept is not None
                if is_finished(outcome.swept.directory) and not composed.force and not jobs_of(hydra).are_here:
                    with suppress(SystemExit):  # another process holds it: it is shown later
                        _ = starter.run(words, index).return_value
                    return None
                config = checked("train", composed)
            shape = scheduler.shape_of(config)
        except UserError as error:  # before it waits in the queue
            end(outcome, str(error), starter.task)
            return None
    return Job(tuple(words), index, shape, outcome)


def fail_record(directory: RunDirectory, message: str) -> None:
    """Correct the record of a run that says running, although no process runs it."""
    if not files.is_file(directory.record):
        return
    with suppress(HeldDirectoryError), directory.locked():  # held: another process has resumed the run
        record = read_record(directory.record)
        if record.status is Status.running:
            record.status, record.message, record.ended = Status.failed, message, utc_now()
            record.write(directory.record)


def end(outcome: Outcome, message: str, task: Task) -> None:
    """Print and write the failure of a job that cannot do so itself."""
    task.print_error(message)
    assert task.folder is not None
    task.folder.write(replace(outcome, failure=message, has_ended=True, is_shown=True))
