"""Inside a job of Slurm: where its ranks meet, and how it goes back into the queue."""

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
from aiayn.system.signals import ENDING, SignalledInterrupt

logger = logging.getLogger("aiayn")

LOWEST_PORT = 15000
"""Jobs meet at this port plus the last four digits of their id, as Lightning's do."""

SECONDS_TO_ANSWER = 120.0
"""How long Slurm's controller may take, which may be starting anew."""


class RequeuedJobError(RunFailedError):
    """The run was stopped, and Slurm starts its job again."""


def job_id() -> str | None:
    """This process's job, such as 12, or 12_1 for one of an array; None outside of Slurm.

    An array's last job has its array's number as `SLURM_JOB_ID`, which would stand for all of them.
    """
    array, index = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{index}" if array and index else os.environ.get("SLURM_JOB_ID")


def restarts() -> int:
    """How often Slurm has started this process's job before."""
    return int(os.environ.get("SLURM_RESTART_COUNT", "0"))


def set_rendezvous() -> None:
    """Say in the environment where the ranks of this job meet, unless `MASTER_ADDR` and `MASTER_PORT` do already.

    Raises:
        RunFailedError: the first node has no address.
    """
    if not processes.by_srun():
        return
    if "MASTER_ADDR" not in os.environ:
        nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ["SLURM_JOB_NODELIST"]
        os.environ["MASTER_ADDR"] = address(first_node(nodes))
    os.environ.setdefault("MASTER_PORT", str(port(os.environ["SLURM_JOB_ID"])))
    # Lightning wants it stated, which a job that was given --ntasks does not.
    per_node = processes.group_size() // int(os.environ.get("SLURM_STEP_NUM_NODES", "1"))
    os.environ.setdefault("SLURM_NTASKS_PER_NODE", str(per_node))


def first_node(nodes: str) -> str:
    """The first of a list of nodes as Slurm writes it: a07 of "a[07-09,12],b1"."""
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])*", nodes)
    assert first is not None  # it matches nothing as well
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", first[0])


def address(node: str) -> str:
    """How to reach a node: by its name, or, where that says nothing to this host, as Slurm does.

    Raises:
        RunFailedError: Slurm knows no way either.
    """
    try:
        socket.getaddrinfo(node, None)
    except OSError:
        found = re.search(r"\bNodeAddr=(\S+)", ask(["scontrol", "show", "node", node]))
        if found is None:
            raise RunFailedError(f"Slurm states no address of node {node}: export MASTER_ADDR before srun") from None
        return found[1]
    return node


def port(job: str) -> int:
    """Where the ranks of a job meet."""
    return LOWEST_PORT + int(job[-4:])


@dataclass(frozen=True)
class Standing:
    """What Slurm says of a job."""

    state: str
    """Such as RUNNING, PENDING, CANCELLED."""
    restarts: int
    """How often it was started anew, or is about to be."""
    may_be_requeued: bool
    is_preempted: bool
    """Whether another job takes its place."""

    @classmethod
    def read(cls, text: str) -> "Standing":
        """From what `scontrol show job` prints."""
        found = dict(re.findall(r"\b(JobState|Requeue|Restarts|BatchFlag|PreemptTime)=(\S+)", text))
        return cls(
            state=found.get("JobState", "UNKNOWN"),
            restarts=int(found.get("Restarts", "0")),
            may_be_requeued=found.get("Requeue") == found.get("BatchFlag") == "1",
            is_preempted=found.get("PreemptTime", "None") not in ("None", "Unknown", "N/A"),
        )


@contextmanager
def put_back_if_stopped(directory: RunDirectory, *, anew: bool) -> Iterator[None]:
    """Where the run inside the block is stopped, put its job back into the queue.

    Args:
        directory: of the run.
        anew: whether the run removes what it finds there.

    Raises:
        RequeuedJobError: Slurm starts the job again.
        RunFailedError: it does not; or another failure of the run.
    """
    before = 0 if anew else max(directory.steps(), default=0)
    try:
        yield
    except (RunFailedError, SignalledInterrupt) as error:
        stopped_by: signal.Signals | None = getattr(error, "signal", None)
        if stopped_by is None:
            raise
        why = str(error) or f"stopped by {stopped_by.name}"
        if processes.rank() > 0:  # what becomes of the job the first rank sees to
            raise RequeuedJobError(why) from error
        try:
            is_back = goes_back(stopped_by, has_advanced=max(directory.steps(), default=0) > before)
        except RunFailedError as reason:
            raise RunFailedError(f"{why}; {reason}") from error
        if not is_back:
            raise RunFailedError(why) from error
        logger.info("%s; Slurm job %s is back in the queue", why, job_id())
        raise RequeuedJobError(why) from error


def goes_back(stopped_by: signal.Signals, *, has_advanced: bool) -> bool:
    """Whether Slurm starts this job again, which a signal has stopped; where it needs to be told so, tell it.

    Slurm warns of the end of the time limit by SIGUSR1, and of another job that takes the place by SIGUSR1 or SIGTERM.
    A SIGTERM by itself is `scancel`. When this function has told Slurm, signals say nothing any more: Slurm ends what
    is left of the job.

    Args:
        stopped_by: the signal.
        has_advanced: whether training came further than where this attempt found it.

    Raises:
        RunFailedError: the job may not be started again, or would come no further.
    """
    if stopped_by not in (signal.SIGUSR1, signal.SIGTERM):
        return False
    job = job_id()
    assert job is not None
    standing = Standing.read(ask(["scontrol", "show", "job", job]))
    if standing.restarts > restarts():  # Slurm has seen to it already
        return True
    if standing.state == "CANCELLED" or not (stopped_by is signal.SIGUSR1 or standing.is_preempted):
        return False
    if not standing.may_be_requeued:
        raise RunFailedError(f"Slurm job {job} may not start again: hydra.launcher.requeue=true lets it")
    if not (has_advanced or standing.is_preempted):
        raise RunFailedError(
            f"Slurm job {job} made no step in its time, and would make none in the next: raise "
            "hydra.launcher.timeout_min, or lower hydra.launcher.signal_delay_s"
        )
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)
    ask(["scontrol", "requeue", job])
    return True


def ask(words: Sequence[str]) -> str:
    """What one of Slurm's programs prints.

    Raises:
        RunFailedError: it does not answer, or refuses.
    """
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS_TO_ANSWER, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFailedError(f"{' '.join(words)}: {error}") from None
    if answer.returncode:
        said = answer.stderr.strip().splitlines()
        raise RunFailedError(f"{' '.join(words)}: {said[-1] if said else f'code {answer.returncode}'}")
    return answer.stdout
