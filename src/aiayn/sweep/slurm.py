"""`hydra/launcher=slurm`: each job of a sweep as one of Slurm, submitted by submitit and waited for here."""

import contextlib
import io
import logging
import os
import shlex
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import run_job, setup_globals
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict
from submitit.core.utils import FailedJobError, FailedSubmissionError
from submitit.slurm.slurm import SlurmExecutor

from aiayn.config import compose
from aiayn.config.schema import TrainConfig
from aiayn.config.sweep_schema import SlurmConfig
from aiayn.errors import UserError
from aiayn.launch.slurm import run_command
from aiayn.runs.record import is_finished
from aiayn.sweep.jobs import Task, checked
from aiayn.sweep.outcomes import Outcome, OutcomeFolder
from aiayn.sweep.slurm_queue import Queue, explain_end, lost_task
from aiayn.system import processes
from aiayn.system.processes import stated_devices
from aiayn.system.signals import signals_as_interrupts

logger = logging.getLogger("aiayn")

PYTHON = shlex.join(["sh", "-c", 'trap "" USR1; exec "$0" "$@"', sys.executable])
"""A process that is still importing ignores the signal that warns of preemption, and dies by the next one."""


@dataclass(frozen=True)
class Shape:
    """The resources of a job; an array of Slurm has jobs of one shape."""

    nodes: int = 1
    tasks_per_node: int = 1
    gpus_per_node: int | None = None


@dataclass(frozen=True)
class Job:
    """One job of a sweep, before it is submitted."""

    words: tuple[str, ...]
    """Its overrides."""
    index: int
    """Among the jobs of this launch."""
    shape: Shape
    outcome: Outcome
    """Its state before it begins."""


@dataclass(frozen=True)
class Submission:
    """A job that Slurm has taken."""

    id: str
    outcome: Outcome
    log: Path


@dataclass(frozen=True)
class Starter:
    """Composes and runs a job, here or in each task of a job of Slurm; pickled on the way there."""

    composed: DictConfig
    """The configuration of the sweep."""
    context: HydraContext
    task: Task
    state: dict[type, Singleton]

    def __call__(self, words: Sequence[str], index: int) -> None:
        """Called by submitit in each task."""
        logging.getLogger("submitit").setLevel(logging.WARNING)
        compose.register()
        Singleton.set_state(self.state)
        setup_globals()
        for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_DFL)  # submitit's handlers would requeue the job without a checkpoint
        with signals_as_interrupts():
            self.run(words, index)

    def run(self, words: Sequence[str], index: int) -> None:
        """Run a job in this process."""
        returned = run_job(
            hydra_context=self.context,
            task_function=self.task,
            config=self._compose(words, index),
            job_dir_key="hydra.sweep.dir",
            job_subdir_key="hydra.sweep.subdir",
        )
        _ = returned.return_value  # raises what the job raised

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
            job.hydra.job.id = job.hydra.job.num = index
        return job


def launch(
    composed: DictConfig, context: HydraContext, task: Task, jobs: Sequence[Sequence[str]], *, first: int
) -> None:
    """Run the jobs of a sweep, each as a job of Slurm; runs that have finished are shown without one.

    Args:
        composed: the configuration of the sweep.
        context: composes a job.
        task: runs it.
        jobs: the overrides of each.
        first: the number of the first one.
    """
    if shutil.which("sbatch") is None:
        raise UserError("hydra/launcher=slurm: no sbatch here; start the command where jobs are submitted")
    settings = OmegaConf.to_object(composed.hydra.launcher)
    assert isinstance(settings, SlurmConfig)
    assert task.folder is not None
    starter = Starter(composed, context, task, Singleton.get_state())
    prepared = [_prepare(starter, words, index, settings) for index, words in enumerate(jobs, first)]
    waiting = [job for job in prepared if job is not None]
    for job in waiting:
        task.folder.write(job.outcome)
    if not waiting:
        return
    submissions = _submit(starter, waiting, settings)
    try:
        _wait(submissions, task, task.folder, poll_seconds=settings.poll_seconds)
    except KeyboardInterrupt:
        logger.warning("Slurm keeps the jobs; `scancel %s` ends them", " ".join(_arrays(submissions)))
        raise


def shape_of(config: TrainConfig, settings: SlurmConfig) -> Shape:
    """The resources of a run: a task for each device, and no GPU for `trainer.accelerator=auto`."""
    devices = stated_devices(config.trainer)
    if not isinstance(devices, int):
        stated = config.trainer.get("devices")
        raise UserError(f"trainer.devices={stated}: Slurm needs the number of devices of a node; state a number")
    gpus = settings.gpus_per_node
    if gpus is None and config.trainer.get("accelerator") in ("gpu", "cuda"):
        gpus = devices
    return Shape(processes.num_nodes(config.trainer), devices, gpus)


def parameters(settings: SlurmConfig, shape: Shape) -> dict[str, Any]:
    """The options of sbatch, as submitit takes them; null leaves one out."""
    srun = ["--kill-on-bad-exit=1", "--open-mode=append"]
    setup = list(settings.setup)
    if settings.cpus_per_task is not None:
        srun.append(f"--cpus-per-task={settings.cpus_per_task}")  # srun does not take it from sbatch since 22.05
        setup.insert(0, f"export OMP_NUM_THREADS=${{OMP_NUM_THREADS:-{settings.cpus_per_task}}}")
    return {
        "job_name": settings.name,
        "partition": settings.partition,
        "account": settings.account,
        "qos": settings.qos,
        "constraint": settings.constraint,
        "gres": settings.gres,
        "nodes": shape.nodes,
        "ntasks_per_node": shape.tasks_per_node,
        "gpus_per_node": shape.gpus_per_node,
        "cpus_per_task": settings.cpus_per_task,
        "mem": None if settings.mem_gb is None else f"{round(settings.mem_gb * 1024)}M",
        "time": settings.timeout_min,
        "array_parallelism": settings.array_parallelism,
        "wckey": None,
        "stderr_to_stdout": True,
        "srun_args": srun,
        "setup": setup,
        "additional_parameters": {
            "signal": f"USR1@{settings.signal_delay_s}",
            "requeue" if settings.requeue else "no-requeue": True,
            **settings.additional_parameters,
        },
    }


def _prepare(starter: Starter, words: Sequence[str], index: int, settings: SlurmConfig) -> Job | None:
    """The job to submit; None where it was refused, or has finished and was shown."""
    with starter.composed_job(words, index) as (composed, hydra):
        outcome = Outcome.begun(starter.task.number(index), composed, tuple(hydra.overrides.task))
        shape = Shape(gpus_per_node=settings.gpus_per_node)
        if hydra.job.config_name == "train":
            assert outcome.swept is not None
            if is_finished(outcome.swept.directory) and not composed.force:
                starter.run(words, index)
                return None
            try:
                shape = shape_of(checked("train", composed), settings)
            except UserError as error:  # before it waits in the queue
                _end(outcome, str(error), starter.task)
                return None
    return Job(tuple(words), index, shape, outcome)


def _end(outcome: Outcome, message: str, task: Task) -> None:
    """Print and write the failure of a job that cannot do so itself."""
    task.print_error(message)
    assert task.folder is not None
    task.folder.write(replace(outcome, failure=message, has_ended=True, is_shown=True))


def _submit(starter: Starter, jobs: Sequence[Job], settings: SlurmConfig) -> list[Submission]:
    """Hand the jobs of each shape to Slurm as one array; all of them, or none."""
    submitted: list[Submission] = []
    for shape in dict.fromkeys(job.shape for job in jobs):
        alike = [job for job in jobs if job.shape == shape]
        executor = SlurmExecutor(folder=settings.submitit_folder, max_num_timeout=0, python=PYTHON)
        executor.update_parameters(**parameters(settings, shape))
        try:
            with contextlib.redirect_stderr(io.StringIO()), _outside_of_jobs():  # submitit prints what it raises
                taken = executor.map_array(starter, [job.words for job in alike], [job.index for job in alike])
        except (FailedJobError, FailedSubmissionError) as error:
            if submitted:
                run_command(["scancel", *_arrays(submitted)])
            reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            raise UserError(f"hydra/launcher=slurm: {reason}") from None
        submitted += [
            Submission(each.job_id, job.outcome, each.paths.stdout) for each, job in zip(taken, alike, strict=True)
        ]
    logs = settings.submitit_folder.replace("%j", "<job>")
    ids = " ".join(_arrays(submitted))
    logger.info("jobs of Slurm: %d (%s); logs in %s; Ctrl-C leaves them running", len(submitted), ids, logs)
    return submitted


def _arrays(submissions: Sequence[Submission]) -> list[str]:
    """Their ids for `scancel`."""
    return list(dict.fromkeys(each.id.partition("_")[0] for each in submissions))


@contextmanager
def _outside_of_jobs() -> Iterator[None]:
    """Hide the variables of the Slurm job in which this command may run; new jobs would inherit them."""
    names = [each for each in os.environ if each.startswith(("SLURM_", "SLURMD_", "SRUN_")) and each != "SLURM_CONF"]
    groups = [each for each in processes.GROUP_VARIABLES if each in os.environ]
    hidden = {name: os.environ.pop(name) for name in (*names, *groups)} if "SLURM_JOB_ID" in os.environ else {}
    try:
        yield
    finally:
        os.environ.update(hidden)


def _wait(submissions: Sequence[Submission], task: Task, folder: OutcomeFolder, *, poll_seconds: float) -> None:
    """Wait until every job has written its end, or has ended without."""
    queue, said = Queue(), ""
    left = {each.id: each for each in submissions}
    while True:
        _drop_ended(left, task, folder)
        if not left:
            return
        looked = queue.look(left)
        if looked is not None:
            there, ended = looked
            if ended:
                _drop_ended(left, task, folder)  # they may have ended by themselves just now
            for job, state in ended.items():
                if job in left:
                    submission = left.pop(job)
                    outcome = submission.outcome
                    directory = None if outcome.swept is None else outcome.swept.directory
                    message = explain_end(job, state, directory=directory, log=submission.log)
                    _end(replace(outcome, is_lost=True), message, task)
            states = Counter(map(str, there.values()))
            line = ", ".join(f"{states[state]} {state}" for state in sorted(states))
            if line and line != said:
                logger.info("Slurm: %s", line)
            said = line
        time.sleep(poll_seconds if left else 0)


def _drop_ended(left: dict[str, Submission], task: Task, folder: OutcomeFolder) -> None:
    """Drop the jobs that have written their end, and print those that failed."""
    outcomes = {outcome.number: outcome for outcome in folder.read()}
    for job, submission in [*left.items()]:
        outcome = outcomes[submission.outcome.number]
        if not outcome.has_ended:
            continue
        del left[job]
        if outcome.failure is not None and not outcome.is_shown:
            lost = lost_task(submission.log)
            task.print_error(f"Slurm job {job}: {'' if lost is None else f'{lost}; '}{outcome.failure}")
            folder.write(replace(outcome, is_shown=True))
