"""The jobs of one command line: a single one, or those of a multirun, whose folder other people may share."""

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from aiayn.config.hydra_composition import keep_nothing, keep_what_is_checked
from aiayn.errors import RunFailedError, UserError
from aiayn.launch.forked_workers import end_fork_server
from aiayn.launch.slurm import RequeuedJobError, restarts
from aiayn.runs.directory import HeldDirectoryError
from aiayn.sweep.launchers import BASIC, BASIC_SWEEPER, SLURM, launcher_of, refusal_of, sweeper_of
from aiayn.sweep.lines import SweepLines, begin_lines
from aiayn.sweep.outcomes import Outcome, OutcomeFolder
from aiayn.system import processes
from aiayn.system.orphans import exit_if_orphaned
from aiayn.system.signals import ENDING, signals_as_interrupts

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader

logger = logging.getLogger("aiayn")

Failure = UserError | RunFailedError | BrokenPipeError

POLL_SECONDS = 1.0
"""Between two looks at the directories that others hold."""

STOP_SECONDS = 75.0
"""How long jobs in other processes may take to stop: somewhat more than their workers may take for a checkpoint."""

SECONDS_TO_TELL = 10.0
"""How long a rank that failed waits for the first one to say so: when it ends, Slurm ends the others."""


@dataclass
class Task:
    """What Hydra calls for each job, in whichever process its launcher does it: it is pickled on the way there."""

    module: str
    """Holds `main(config)`, which does one job."""
    complain: Callable[[str], None]
    """Tells the user of a job of a multirun that failed, at once."""
    process: int = field(default_factory=os.getpid)
    """Of the command."""
    error_file: tuple[int, int] | None = field(default_factory=lambda: _file_of(2))
    """What standard error is for the user."""
    folder: OutcomeFolder | None = None
    """Where the jobs of a multirun tell what became of them."""
    retaken: tuple[int, ...] = ()
    """The numbers, in the sweep, of jobs that had been left for later and are now taken up; empty the first time."""
    was_called: bool = False
    failure: Failure | None = None
    """Of a single job, or of a multirun as a whole."""
    result: dict[str, Any] | None = None
    """What the command returned of a single job, field by field."""

    def __call__(self, composed: DictConfig) -> None:
        """Do a job as soon as Hydra has composed it."""
        self.was_called = True
        self.failure = refusal_of(HydraConfig.get())
        if self.failure is not None:
            return
        if HydraConfig.get().mode is RunMode.MULTIRUN:
            with signals_as_interrupts():
                self._do_one_of_many(composed)
            return
        try:
            self.result = self._main(composed)
        except (UserError, RunFailedError, BrokenPipeError) as error:
            self.failure = error  # past Hydra it would come with Hydra's remarks

    def _do_one_of_many(self, composed: DictConfig) -> None:
        """Do it; what becomes of it is told and not raised, so that a failing job stops no other."""
        folder, job = self.folder, HydraConfig.get().job
        assert folder is not None
        exit_if_orphaned()
        if folder.is_stopped:
            return
        if (self.retaken or restarts()) and "force" in composed:
            composed.force = False  # who held it has started it anew, if anybody should; or this job has
        number = self.number(job.num)
        if processes.rank() > 0:
            self._follow(composed, number)
            return
        outcome = Outcome.begun(number, composed, tuple(HydraConfig.get().overrides.task))
        folder.write(outcome)
        try:
            outcome = replace(outcome, result=self._main(composed), has_ended=True)
        except RequeuedJobError:
            pass  # it has not ended
        except HeldDirectoryError as error:
            logger.info("%s: %s is running here; left for later", error.path, error.holder)
            outcome = replace(outcome, held=f"{error.path} ({error.holder})", has_ended=True)
        except (UserError, RunFailedError, BrokenPipeError) as error:
            self.complain(str(error))
            is_told = _file_of(2) == self.error_file
            outcome = replace(outcome, failure=str(error), is_told=is_told, has_ended=True)
        except KeyboardInterrupt:
            if os.getpid() == self.process:
                raise
            outcome = replace(outcome, failure="interrupted", is_told=True, has_ended=True)
        finally:
            folder.write(outcome)
        exit_if_orphaned()
        if (outcome.failure is not None or outcome.held is not None) and launcher_of(HydraConfig.get()) == SLURM:
            raise SystemExit(1)  # so that Slurm ends the other ranks, and calls the job failed

    def number(self, index: int) -> int:
        """The number, in the sweep, of a job of this launch."""
        return self.retaken[index] if self.retaken else int(index)

    def _follow(self, composed: DictConfig, number: int) -> None:
        """Do a rank's part of a job of which the first rank tells what became."""
        try:
            self._main(composed)
        except RequeuedJobError:
            return
        except (UserError, RunFailedError, BrokenPipeError) as error:
            self.complain(str(error))
            end = time.monotonic() + SECONDS_TO_TELL
            while not self._has_ended(number) and time.monotonic() < end:
                time.sleep(0.1)
            raise SystemExit(1) from None

    def _has_ended(self, number: int) -> bool:
        assert self.folder is not None
        return any(outcome.number == number and outcome.has_ended for outcome in self.folder.read())

    def _main(self, composed: DictConfig) -> dict[str, Any] | None:
        result = import_module(self.module).main(composed)
        return None if result is None else asdict(result)


class Jobs:
    """The command's view of its jobs, wherever they are done.

    Args:
        module: holds `main(config)`, which does one job.
        complain: tells the user of a job of a multirun that failed.
    """

    def __init__(self, module: str, *, complain: Callable[[str], None]) -> None:
        self.task = Task(module, complain)
        self.outcomes: list[Outcome] = []
        """Of the jobs of a multirun that have begun, in the order of the sweep."""
        self.show: Callable[[], None] | None = None
        """Says at the end what came of all, for a sweeper that does it in words of its own."""
        self.are_cut_short = False
        """Whether their launcher broke before they had ended."""
        self._multirun: tuple[DictConfig, ConfigLoader] | None = None
        self._lines: SweepLines | None = None
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        JOBS.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_lines()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        end_fork_server()
        if self.task.folder is not None:
            self.task.folder.remove()

    @property
    def are_a_multirun(self) -> bool:
        """Whether a failing job stops no other."""
        return self._multirun is not None

    @property
    def have_begun(self) -> bool:
        """Whether there were any, or a sweeper that has something to show without."""
        return self.task.was_called or bool(self.outcomes) or self.show is not None

    @property
    def results(self) -> list[dict[str, Any]]:
        """What the command returned of the jobs that did not fail, field by field."""
        found = [self.task.result, *(outcome.result for outcome in self.outcomes if outcome.failure is None)]
        return [result for result in found if result is not None]

    @property
    def failed(self) -> list[Outcome]:
        """The jobs of a multirun that failed, or whose process was killed."""
        return [outcome for outcome in self.outcomes if outcome.failure is not None or not outcome.has_ended]

    def begin_multirun(self, config: DictConfig) -> None:
        """Prepare for the jobs that come, whoever does them.

        Args:
            config: the composed configuration of the multirun itself.
        """
        self._multirun = config, GlobalHydra.instance().config_loader()
        with suppress(OSError):  # which Hydra, about to make the same folder, reports
            self.task.folder = OutcomeFolder.make(Path(config.hydra.sweep.dir).expanduser())
            self._lines = begin_lines(config, GlobalHydra.instance().config_loader(), self.task.folder)
        if (launcher_of(config.hydra), sweeper_of(config.hydra)) == (BASIC, BASIC_SWEEPER):
            keep_what_is_checked(GlobalHydra.instance().config_loader())
        if launcher_of(config.hydra) in (BASIC, SLURM):
            return
        # A pool that is ended at once leaves semaphores; the process that cleans them away would tell the user.
        ignored = [os.environ.get("PYTHONWARNINGS", ""), "ignore:resource_tracker"]
        os.environ["PYTHONWARNINGS"] = ",".join(filter(None, ignored))
        logging.getLogger("hydra_plugins").setLevel(logging.WARNING)  # joblib's says how it was called, in its words
        for number in (signal.SIGINT, *ENDING):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._stop)

    def end(self) -> None:
        """See what became of the jobs, when their launcher has done with them.

        Raises:
            UserError, RunFailedError, BrokenPipeError: of a single job.
        """
        if self.task.failure is not None:
            raise self.task.failure
        self._read()
        if not self.are_cut_short:
            self._do_those_left()
        self._stop_lines()
        for outcome in self.failed:
            if outcome.failure is not None and not outcome.is_told:
                self.task.complain(outcome.failure)

    def _stop_lines(self) -> None:
        if self._lines is not None:
            self._lines.stop()

    def _read(self) -> list[Outcome]:
        if self.task.folder is not None:
            self.outcomes = self.task.folder.read()
        return self.outcomes

    def _do_those_left(self) -> None:
        """Wait for the jobs that other processes are at, and show each, or take it up where it was not finished."""
        left = [outcome for outcome in self.outcomes if outcome.held is not None]
        if left:
            holders = ", ".join(str(outcome.held) for outcome in left)
            logger.info("waiting for what others are running: %s; Ctrl-C ends the waiting", holders)
        while left:
            free = [job for job in left if job.swept is None or job.swept.directory.is_free]
            if free:
                self._launch_again(free)
                left = [outcome for outcome in self._read() if outcome.held is not None]
            else:
                time.sleep(POLL_SECONDS)

    def _launch_again(self, jobs: Sequence[Outcome]) -> None:
        """Hand jobs to the launcher that had them before."""
        from hydra._internal.callbacks import Callbacks
        from hydra.core.plugins import Plugins

        assert self._multirun is not None
        config, loader = self._multirun
        keep_nothing(loader)
        self.task.retaken = tuple(job.number for job in jobs)
        launcher = Plugins.instance().instantiate_launcher(
            config=config,
            hydra_context=HydraContext(config_loader=loader, callbacks=Callbacks()),
            task_function=self.task,
        )
        for returned in launcher.launch([job.overrides for job in jobs], initial_job_idx=0):
            _ = returned.return_value  # raises what a job raised

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        """Let jobs in other processes write their checkpoints before this one ends; the second signal acts at once.

        Their pool would kill them as soon as an exception passes it.
        """
        for each in self._handlers:
            signal.signal(each, self._leave)
        folder = self.task.folder
        if folder is not None:
            folder.stop()
            asked: set[int] = set()
            end = time.monotonic() + STOP_SECONDS
            while (running := self._running(folder)) and time.monotonic() < end:
                for process in running - asked:
                    os.kill(process, signal.SIGTERM)
                asked |= running
                time.sleep(0.1)
        raise KeyboardInterrupt

    def _leave(self, _number: int, _frame: FrameType | None) -> None:
        """End at once; a pool that is left would wait for its jobs. Their workers notice, and stop by themselves."""
        for child in multiprocessing.active_children():
            if child.pid is not None:  # joblib's processes have no kill() of their own
                with suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)
        if self.task.folder is not None:
            self.task.folder.remove()
        self.task.complain("interrupted")
        os._exit(1)

    @staticmethod
    def _running(folder: OutcomeFolder) -> set[int]:
        """The children of this process that are at a job."""
        children = {child.pid for child in multiprocessing.active_children()}
        return {outcome.process for outcome in folder.read() if not outcome.has_ended} & children


JOBS: ContextVar[Jobs] = ContextVar("jobs")
"""Those of the command line under way, for callbacks and sweepers: Hydra makes them, and hands them nothing of ours."""


class Announcement(Callback):
    """Hydra's way to tell that a multirun starts; it makes one of its own from the configuration."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Tell the jobs of this command."""
        JOBS.get().begin_multirun(config)


def _file_of(descriptor: int) -> tuple[int, int] | None:
    """What an open file is, wherever it is open; None where it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
