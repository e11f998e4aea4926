"""`hydra/launcher=slurm`: each job of a sweep as one of Slurm, submitted by submitit and waited for here."""

import contextlib
import io
import logging
import os
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from submitit import SlurmExecutor
from submitit.core.utils import FailedJobError, FailedSubmissionError

from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.extensions.cluster.schema import SlurmConfig
from aiayn.extensions.cluster.slurm_queue import ATTEMPT, Queue, explain_end, lost_task
from aiayn.launch.slurm import run_command
from aiayn.sweep.jobs import Task
from aiayn.sweep.outcomes import Outcome, OutcomeFolder
from aiayn.sweep.scheduled import Job, Starter, end, launcher_settings
from aiayn.system import processes

logger = logging.getLogger("aiayn")

PYTHON = shlex.join(["sh", "-c", 'trap "" USR1; exec "$0" "$@"', sys.executable])
"""A process that is still importing ignores the signal that warns of preemption, and is ended by the next one."""


@dataclass(frozen=True)
class Shape:
    """The resources of a job; an array of Slurm has jobs of one shape."""

    nodes: int = 1
    tasks_per_node: int = 1
    gpus_per_node: int | None = None


@dataclass(frozen=True)
class Submission:
    """A job that Slurm has taken."""

    id: str
    outcome: Outcome
    log: Path


@dataclass(frozen=True)
class SlurmScheduler:
    """Submits jobs to Slurm and waits for them."""

    settings: SlurmConfig

    def shape_of(self, config: TrainConfig | None) -> Shape:
        """See `Scheduler`."""
        return Shape(gpus_per_node=self.settings.gpus_per_node) if config is None else shape_of(config, self.settings)

    def run(self, starter: Starter, jobs: Sequence[Job[Shape]]) -> None:
        """See `Scheduler`; an interrupt leaves the jobs to Slurm."""
        task = starter.task
        assert task.folder is not None
        for job in jobs:
            task.folder.write(job.outcome)
        submitted: list[Submission] = []
        try:
            _submit(submitted, starter, jobs, self.settings)
            _wait(submitted, task, task.folder, poll_seconds=self.settings.poll_seconds)
        except KeyboardInterrupt:
            if submitted:
                logger.warning("Slurm keeps the jobs; `scancel %s` ends them", " ".join(_arrays(submitted)))
            raise


def scheduler_of(composed: DictConfig) -> SlurmScheduler:
    """The scheduler of a sweep's configuration; UserError if Slurm is not here."""
    if shutil.which("sbatch") is None:
        raise UserError(
            "hydra/launcher=slurm: sbatch is not installed here; start the command on a host that submits jobs"
        )
    return SlurmScheduler(launcher_settings(composed, SlurmConfig))


def shape_of(config: TrainConfig, settings: SlurmConfig) -> Shape:
    """The resources of a run: a task for each device, and no GPU for `trainer.accelerator=auto`."""
    devices = processes.counted_devices(config.trainer, scheduler="Slurm")
    gpus = settings.gpus_per_node
    if gpus is None and config.trainer.get("accelerator") in ("gpu", "cuda"):
        gpus = devices
    return Shape(processes.num_nodes(config.trainer), devices, gpus)


def parameters(settings: SlurmConfig, shape: Shape) -> dict[str, Any]:
    """The options of sbatch, as submitit takes them; null leaves one out."""
    srun = ["--kill-on-bad-exit=1", "--open-mode=append"]
    setup = [f"echo '{ATTEMPT}'", *settings.setup]
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


def _submit(submitted: list[Submission], starter: Starter, jobs: Sequence[Job[Shape]], settings: SlurmConfig) -> None:
    """Hand the jobs of each shape to Slurm as one array, and add them to `submitted`; all of them, or none.

    An interrupt leaves there those that Slurm has taken.
    """
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
                    end(replace(outcome, is_lost=True), message, task)
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
