"""Inside a Slurm job: the address at which its ranks meet, and its return to the queue after a signal."""

import logging
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from aiayn.errors import RunFailedError
from aiayn.runs.directory import RunDirectory
from aiayn.system import processes
from aiayn.system.signals import INTERRUPTING, SignalledInterrupt, name_of

logger = logging.getLogger("aiayn")

LOWEST_PORT = 15000
"""The ranks of a job meet at this port plus the last four digits of its id, as in Lightning."""

COMMAND_SECONDS = 120.0
"""Timeout of a Slurm command; the controller may be restarting."""


class RequeuedJobError(RunFailedError):
    """The run was stopped, and Slurm will start its job again."""


def job_id() -> str | None:
    """This process's job, such as 12, or 12_1 in an array; None outside of Slurm."""
    # In an array's last job, SLURM_JOB_ID is the id of the whole array.
    array, index = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{index}" if array and index else os.environ.get("SLURM_JOB_ID")


def restarts() -> int:
    """How often Slurm has restarted this process's job."""
    return processes.stated_number("SLURM_RESTART_COUNT", 0)


def set_rendezvous() -> None:
    """Set `MASTER_ADDR` and `MASTER_PORT`, where the ranks of this job meet, unless they are set."""
    if not processes.by_srun():
        return
    if "MASTER_ADDR" not in os.environ:
        nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ["SLURM_JOB_NODELIST"]
        os.environ["MASTER_ADDR"] = address(first_node(nodes))
    os.environ.setdefault("MASTER_PORT", str(port(os.environ["SLURM_JOB_ID"])))
    # Lightning requires it; jobs started with --ntasks do not have it.
    per_node = processes.group_size() // max(1, processes.stated_number("SLURM_STEP_NUM_NODES", 1))
    os.environ.setdefault("SLURM_NTASKS_PER_NODE", str(per_node))


def first_node(nodes: str) -> str:
    """The first node of a list in Slurm's notation: a07 of "a[07-09,12],b1"."""
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])*", nodes)
    assert first is not None  # it matches the empty string
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", first[0])


def address(node: str) -> str:
    """The node's name if this host can resolve it, else the address that Slurm states."""
    try:
        socket.getaddrinfo(node, None)
    except OSError:
        found = re.search(r"\bNodeAddr=(\S+)", run_command(["scontrol", "show", "node", node]))
        if found is None:
            raise RunFailedError(f"Slurm states no address of node {node}: export MASTER_ADDR before srun") from None
        return found[1]
    return node


def port(job: str) -> int:
    """The port at which the ranks of a job meet."""
    return LOWEST_PORT + int(job[-4:])


@dataclass(frozen=True)
class JobState:
    """A job as `scontrol show job` describes it."""

    state: str
    """Such as RUNNING, PENDING, CANCELLED."""
    restarts: int
    """A restart that is due included."""
    may_be_requeued: bool
    is_preempted: bool
    """Whether Slurm gives its place to another job."""

    @classmethod
    def read(cls, text: str) -> "JobState":
        """Parse the output of `scontrol show job`."""
        found = dict(re.findall(r"\b(JobState|Requeue|Restarts|BatchFlag|PreemptTime)=(\S+)", text))
        return cls(
            state=found.get("JobState", "UNKNOWN"),
            restarts=int(found.get("Restarts", "0")),
            may_be_requeued=found.get("Requeue") == found.get("BatchFlag") == "1",
            is_preempted=found.get("PreemptTime", "None") not in ("None", "Unknown", "N/A"),
        )


@contextmanager
def requeued_if_stopped(directory: RunDirectory, *, anew: bool) -> Iterator[None]:
    """If a signal stops the run inside the block, put its job back into the queue.

    Args:
        directory: of the run.
        anew: whether the run clears the directory first.

    Raises:
        RequeuedJobError: Slurm will start the job again.
    """
    before = 0 if anew else max(directory.steps(), default=0)
    try:
        yield
    except (RunFailedError, SignalledInterrupt) as error:
        stopped_by: signal.Signals | None = getattr(error, "signal", None)
        if stopped_by is None:
            raise
        why = str(error) or f"stopped by {name_of(stopped_by)}"
        if processes.rank() > 0:  # the first rank requeues the job
            raise RequeuedJobError(why) from error
        try:
            is_requeued = requeue(stopped_by, has_advanced=max(directory.steps(), default=0) > before)
        except RunFailedError as reason:
            raise RunFailedError(f"{why}; {reason}") from error
        if not is_requeued:
            raise RunFailedError(why) from error
        logger.info("%s; Slurm job %s is back in the queue", why, job_id())
        raise RequeuedJobError(why) from error


def requeue(stopped_by: signal.Signals, *, has_advanced: bool) -> bool:
    """Requeue this job if Slurm stopped it by the signal; whether Slurm will start it again.

    Slurm announces the end of the time limit by SIGUSR1, and preemption by SIGUSR1 or SIGTERM; SIGTERM without
    preemption is `scancel`. After requeueing, signals are ignored: Slurm ends the rest of the job.
    """
    if stopped_by not in (signal.SIGUSR1, signal.SIGTERM):
        return False
    job = job_id()
    assert job is not None
    state = JobState.read(run_command(["scontrol", "show", "job", job]))
    if state.restarts > restarts():  # Slurm has requeued it already
        return True
    if state.state == "CANCELLED" or not (stopped_by is signal.SIGUSR1 or state.is_preempted):
        return False
    if not state.may_be_requeued:
        raise RunFailedError(
            f"Slurm job {job}: requeueing is disabled; allow it (hydra.launcher.requeue=true, or sbatch --requeue), or "
            "rerun the command"
        )
    if not (has_advanced or state.is_preempted):
        raise RunFailedError(
            f"Slurm job {job} saved no new checkpoint in its time; raise its limit (hydra.launcher.timeout_min), or "
            "lower hydra.launcher.signal_delay_s"
        )
    for number in INTERRUPTING:
        signal.signal(number, signal.SIG_IGN)
    run_command(["scontrol", "requeue", job])
    return True


def run_command(words: Sequence[str]) -> str:
    """The output of a Slurm command; RunFailedError if it fails or times out."""
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFailedError(f"{' '.join(words)}: {error}") from None
    if answer.returncode:
        said = answer.stderr.strip().splitlines()
        raise RunFailedError(f"{' '.join(words)}: {said[-1] if said else f'code {answer.returncode}'}")
    return answer.stdout
