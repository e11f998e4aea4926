"""The jobs of a multirun, which may share its folder with others; and the configuration of any job, judged."""

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
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Self

from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from omegaconf import DictConfig

from aiayn.config import store
from aiayn.config.computed import check_identity_computed
from aiayn.config.freeze import to_dataclass
from aiayn.config.hydra_versions import context_of
from aiayn.errors import KilledRunError, RunFailedError, UserError, error_line
from aiayn.launch.forked_workers import end_fork_server
from aiayn.launch.slurm import RequeuedJobError, restarts
from aiayn.registry import added_commands
from aiayn.runs.directory import HeldDirectoryError
from aiayn.sweep.launchers import jobs_of, remove_empty
from aiayn.sweep.lines import SweepLines
from aiayn.sweep.outcomes import Outcome, OutcomeFolder
from aiayn.system import processes
from aiayn.system.orphans import STOP_SECONDS, exit_if_orphaned
from aiayn.system.output_format import Format, output_format, printed_as
from aiayn.system.plugins import failures_named
from aiayn.system.resource_errors import file_errors_explained, stdout_errors_explained
from aiayn.system.signals import INTERRUPTING, SignalledInterrupt, passed_on, signals_as_interrupts

if TYPE_CHECKING:
    from hydra.types import HydraContext

logger = logging.getLogger("aiayn")

POLL_SECONDS = 1.0
"""Between two checks of the run directories that other processes hold."""

REPORT_SECONDS = 10.0
"""Longest wait of a failed rank for the outcome of the first rank: when it ends, Slurm ends the others."""


def judged(verb: str, composed: DictConfig) -> Any:
    """A command's configuration (without Hydra's node) as its dataclass, judged as far as possible without files."""
    if "identity" in composed:
        check_identity_computed(composed, verb)
    config: Any = to_dataclass(composed, store.COMMANDS[verb])
    check = getattr(module_of(verb), "check", None)
    if check is not None:
        check(config)
    return config


def checked(verb: str, composed: DictConfig) -> Any:
    """The same for a job of a multirun: every error is a UserError, with its key if it has one."""
    try:
        return judged(verb, composed)
    except UserError:
        raise
    except Exception as error:
        key = getattr(error, "full_key", None)
        raise UserError(f"{key}: {str(error).splitlines()[0]}" if key else error_line(error)) from error


def module_of(verb: str) -> ModuleType:
    """Holds `main(config)`, which runs one job, and perhaps `check(config)`, which raises UserError."""
    added = added_commands().get(verb)
    return import_module(added.module if added else f"aiayn.commands.{verb}")


@dataclass
class Task:
    """Called by Hydra for each job, in the process that the launcher chooses; pickled on the way there."""

    verb: str
    print_error: Callable[[str], None]
    """Shows why a job of a multirun failed, at once."""
    process: int = field(default_factory=os.getpid)
    """Of the command."""
    folder: OutcomeFolder | None = None
    """For the outcomes of a multirun's jobs."""
    relaunched: tuple[int, ...] = ()
    """The numbers, in the sweep, of held jobs that are launched again."""
    output_format: Format = field(default_factory=output_format)
    """Of the command, for jobs in other processes."""

    def __call__(self, composed: DictConfig) -> None:
        """Run a job that Hydra has composed. Failures are its outcome, and not raised: it stops no other job."""
        with signals_as_interrupts():
            self._run(composed)

    def _run(self, composed: DictConfig) -> None:
        folder, hydra = self.folder, HydraConfig.get()
        assert folder is not None
        exit_if_orphaned()
        if folder.is_stopped:
            return
        if (self.relaunched or restarts()) and "force" in composed:
            composed.force = False  # the run was restarted by the process that held it, or by this job
        number = self.number(hydra.job.num)
        if processes.rank() > 0:
            self._run_other_rank(composed, number)
            return
        outcome = Outcome.begun(number, composed, tuple(hydra.overrides.task))
        folder.write(outcome)
        try:
            outcome = replace(outcome, result=self._main(composed), has_ended=True)
        except RequeuedJobError:
            pass  # Slurm starts the job again
        except HeldDirectoryError as error:
            logger.info("%s: locked by %s; left for later", error.path, error.holder)
            outcome = replace(outcome, held=f"{error.path} ({error.holder})", has_ended=True)
        except (UserError, RunFailedError, BrokenPipeError) as error:
            self.print_error(str(error))
            is_shown, was_killed = jobs_of(hydra).are_here, isinstance(error, KilledRunError)
            outcome = replace(outcome, failure=str(error), is_shown=is_shown, was_killed=was_killed, has_ended=True)
        except KeyboardInterrupt:
            if os.getpid() == self.process:
                raise
            outcome = replace(outcome, failure="interrupted", is_shown=True, has_ended=True)
        finally:
            folder.write(outcome)
        exit_if_orphaned()
        if (outcome.failure is not None or outcome.held is not None) and not jobs_of(hydra).are_here:
            raise SystemExit(1)  # the scheduler then ends the other ranks, and the job counts as failed

    def number(self, index: int) -> int:
        """The number, in the sweep, of a job of this launch."""
        return self.relaunched[index] if self.relaunched else int(index)

    def _run_other_rank(self, composed: DictConfig, number: int) -> None:
        """Run a rank's part of a job; the first rank writes the outcome."""
        assert self.folder is not None
        try:
            self._main(composed)
        except RequeuedJobError:
            return
        except (UserError, RunFailedError, BrokenPipeError) as error:
            self.print_error(str(error))
            end = time.monotonic() + REPORT_SECONDS
            while time.monotonic() < end and not any(
                outcome.number == number and outcome.has_ended for outcome in self.folder.read()
            ):
                time.sleep(0.1)
            raise SystemExit(1) from None

    def _main(self, composed: DictConfig) -> dict[str, Any] | None:
        output = Path(HydraConfig.get().runtime.output_dir)
        try:
            with stdout_errors_explained(), file_errors_explained(), failures_named(), printed_as(self.output_format):
                result = module_of(self.verb).main(checked(self.verb, composed))
        except (UserError, KeyboardInterrupt):
            remove_empty(output)
            raise
        return None if result is None else asdict(result)


class Jobs:
    """The jobs of a multirun as the command sees them, in whichever processes they run."""

    def __init__(self, verb: str, *, print_error: Callable[[str], None]) -> None:
        self.task = Task(verb, print_error)
        self.outcomes: list[Outcome] = []
        """Of the jobs that have begun, in the order of the sweep."""
        self.show: Callable[[], None] | None = None
        """Prints the results at the end, for a sweeper with a table of its own."""
        self.are_cut_short = False
        """Whether the launcher broke before they had ended."""
        self._multirun: tuple[DictConfig, HydraContext] | None = None
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
    def have_begun(self) -> bool:
        """Whether there was any job, or a sweeper has something to show."""
        return bool(self.outcomes) or self.show is not None

    @property
    def results(self) -> list[dict[str, Any]]:
        """The fields of the values that the command returned, for the jobs that did not fail."""
        found = (outcome.result for outcome in self.outcomes if outcome.failure is None)
        return [result for result in found if result is not None]

    @property
    def failed(self) -> list[Outcome]:
        """The jobs that failed, or whose process was killed."""
        return [outcome for outcome in self.outcomes if outcome.failure is not None or not outcome.has_ended]

    def outcome_of(self, number: int) -> Outcome:
        """That of a job that has begun, by its number in the sweep."""
        return next(outcome for outcome in self._read() if outcome.number == number)

    def begin_multirun(self, config: DictConfig) -> None:
        """Make the folder of outcomes and start the lines; `config` is that of the multirun itself."""
        context = context_of(config)
        self._multirun = config, context
        jobs = jobs_of(config.hydra)
        with suppress(OSError):  # Hydra, about to make the same folder, reports it
            self.task.folder = OutcomeFolder.make(Path(config.hydra.sweep.dir).expanduser())
            if self.task.verb == "train" and not jobs.outlive_the_command:  # those of Slurm have lines of their own
                self._lines = SweepLines(config, context.config_loader, self.task.folder)
        if not jobs.are_side_by_side or jobs.outlive_the_command:
            return
        # A pool that is ended at once leaves semaphores; the process that removes them would print a warning.
        ignored = [os.environ.get("PYTHONWARNINGS", ""), "ignore:resource_tracker"]
        os.environ["PYTHONWARNINGS"] = ",".join(filter(None, ignored))
        for number in INTERRUPTING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._stop)

    def end(self) -> None:
        """Read the outcomes when the launcher has ended, and run held jobs again."""
        self._read()
        if not self.are_cut_short:
            self._run_held_jobs()
        self._stop_lines()
        for outcome in self.failed:
            if outcome.failure is not None and not outcome.is_shown:
                self.task.print_error(outcome.failure)

    def _stop_lines(self) -> None:
        if self._lines is not None:
            self._lines.stop()

    def _read(self) -> list[Outcome]:
        if self.task.folder is not None:
            self.outcomes = self.task.folder.read()
        return self.outcomes

    def _run_held_jobs(self) -> None:
        """Launch each job that another process held as soon as it is free: it is shown, or resumed."""
        left = [outcome for outcome in self.outcomes if outcome.held is not None]
        if left:
            holders = ", ".join(str(outcome.held) for outcome in left)
            logger.info("waiting for runs of other processes: %s; Ctrl-C ends the waiting", holders)
        while left:
            if free := [job for job in left if job.swept is None or job.swept.directory.is_free]:
                self._relaunch(free)
                left = [outcome for outcome in self._read() if outcome.held is not None]
            else:
                time.sleep(POLL_SECONDS)

    def _relaunch(self, jobs: Sequence[Outcome]) -> None:
        assert self._multirun is not None
        config, context = self._multirun
        self.task.relaunched = tuple(job.number for job in jobs)
        launcher = Plugins.instance().instantiate_launcher(
            config=config, hydra_context=context, task_function=self.task
        )
        for returned in launcher.launch([job.overrides for job in jobs], initial_job_idx=0):
            _ = returned.return_value  # raises what a job raised

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        """Let jobs in other processes write their checkpoints before this one ends; a second signal ends all at once.

        The pool would kill its processes as soon as an exception passes it.
        """
        interrupt = KeyboardInterrupt() if number == signal.SIGINT else SignalledInterrupt(number)
        for each in self._handlers:
            signal.signal(each, self._end_at_once)
        if self.task.folder is not None:
            self.task.folder.stop()
            asked: set[int] = set()
            end = time.monotonic() + STOP_SECONDS
            while (running := self._running()) and time.monotonic() < end:
                for process in running - asked:
                    os.kill(process, passed_on(interrupt))
                asked |= running
                time.sleep(0.1)
        raise interrupt

    def _end_at_once(self, _number: int, _frame: FrameType | None) -> None:
        """Kill the pool, which would wait for its jobs, and end. Their workers notice and stop by themselves."""
        for child in multiprocessing.active_children():
            if child.pid is not None:  # joblib's processes have no kill() of their own
                with suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)
        if self.task.folder is not None:
            self.task.folder.remove()
        self.task.print_error("interrupted")
        os._exit(1)

    def _running(self) -> set[int]:
        """The children of this process that run a job."""
        children = {child.pid for child in multiprocessing.active_children()}
        return {outcome.process for outcome in self._read() if not outcome.has_ended} & children


JOBS: ContextVar[Jobs] = ContextVar("jobs")
"""Those of the current command line, for sweepers, which Hydra makes without them."""
