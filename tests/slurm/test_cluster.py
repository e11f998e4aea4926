"""The cluster that the tests of Slurm stand on does what real ones do."""

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cluster import GRACE_SECONDS, Cluster

pytestmark = pytest.mark.slurm

BOTH_NODES = ("--nodes=2", "--ntasks-per-node=1", "--exclusive")


def step(on_usr1: str) -> str:
    """A script with a step whose tasks say that they begin, and go on for ever but for what SIGUSR1 makes them do."""
    return f"srun --quiet sh -c 'trap \"{on_usr1}\" USR1; echo begun; while :; do sleep 0.1; done'"


def lines(cluster: Cluster, job: str) -> Counter[str]:
    return Counter(cluster.output(job).splitlines())


def wait_for_lines(cluster: Cluster, job: str, **counts: int) -> None:
    cluster.wait_for(f"{counts} by job {job}", lambda: Counter(counts) <= lines(cluster, job))


def wait_for_state(cluster: Cluster, job: str, state: str) -> None:
    cluster.wait_for(f"job {job} {state}", lambda: cluster.job(job)["JobState"] == state)


def test_a_job_has_tasks_on_both_nodes(cluster: Cluster) -> None:
    job = cluster.submit("srun sh -c 'echo $SLURM_PROCID on $SLURMD_NODENAME'", *BOTH_NODES)
    wait_for_state(cluster, job, "COMPLETED")
    assert lines(cluster, job) == {"0 on n1": 1, "1 on n2": 1}


def test_an_array_has_a_job_for_each_index(cluster: Cluster) -> None:
    job = cluster.submit("echo index $SLURM_ARRAY_TASK_ID", "--array=0-2")
    cluster.wait_for("three lines", lambda: lines(cluster, job) == {f"index {index}": 1 for index in range(3)})


def test_a_signal_reaches_every_task(cluster: Cluster) -> None:
    job = cluster.submit(step("echo told; exit 3"), *BOTH_NODES)
    wait_for_lines(cluster, job, begun=2)
    cluster.call("scancel", "--signal=USR1", job)
    wait_for_state(cluster, job, "FAILED")
    assert lines(cluster, job)["told"] == 2
    assert cluster.job(job)["ExitCode"] == "3:0"


def test_a_requeued_job_begins_again(cluster: Cluster) -> None:
    job = cluster.submit("echo attempt ${SLURM_RESTART_COUNT:-0}; test $SLURM_RESTART_COUNT || sleep 300")
    cluster.wait_for("its first attempt", lambda: lines(cluster, job)["attempt 0"] == 1)
    cluster.call("scontrol", "requeue", job)
    wait_for_state(cluster, job, "COMPLETED")
    assert lines(cluster, job)["attempt 1"] == 1


@pytest.fixture
def hurried(cluster: Cluster) -> Iterator[None]:
    """A preempted job has one second between its signal and its end."""
    set_grace = ("scontrol", "update", "PartitionName=main")
    cluster.call(*set_grace, "GraceTime=1")
    yield
    cluster.call(*set_grace, f"GraceTime={GRACE_SECONDS}")


def test_a_preempted_job_is_told_first_and_may_requeue_itself(cluster: Cluster) -> None:
    """One that only ended would stay ended: Slurm requeues what it has to end itself."""
    job = cluster.submit(step("echo told; scontrol requeue $SLURM_JOB_ID"), *BOTH_NODES, "--signal=USR1@30")
    wait_for_lines(cluster, job, begun=2)
    urgent = cluster.submit("sleep 1", *BOTH_NODES, "--partition=urgent")
    wait_for_lines(cluster, job, begun=4, told=1)
    assert cluster.job(job)["Restarts"] == "1"
    assert cluster.job(urgent)["JobState"] == "COMPLETED"


@pytest.mark.usefixtures("hurried")
def test_a_preempted_job_that_goes_on_is_ended_and_requeued(cluster: Cluster) -> None:
    job = cluster.submit(step("echo told"), *BOTH_NODES, "--signal=USR1@30")
    wait_for_lines(cluster, job, begun=2)
    urgent = cluster.submit("sleep 1", *BOTH_NODES, "--partition=urgent")
    wait_for_lines(cluster, job, begun=4, told=2)
    assert cluster.job(job)["Restarts"] == "1"
    assert cluster.job(urgent)["JobState"] == "COMPLETED"


LISTENING = "0A"
LOOPBACK = f"{int.from_bytes(socket.inet_aton('127.0.0.1'), sys.byteorder):08X}"

OWNER = """
import sys
from pathlib import Path
from cluster import Cluster

with Cluster(Path(sys.argv[1])) as cluster:
    job = cluster.submit("setsid sleep 600 & srun sleep 600")
    cluster.wait_for("the step", lambda: f"{job}.0" in cluster.call("squeue", "--steps"))
    print("started", flush=True)
    sys.stdin.read()
"""
"""A program that keeps a cluster with a busy job until its standard input ends."""


@pytest.mark.parametrize("end", [signal.SIGKILL, None], ids=["its owner is killed", "its block is left"])
def test_a_cluster_leaves_no_process_and_listens_on_loopback_only(
    cluster: Cluster, tmp_path: Path, end: signal.Signals | None
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent / "loopback")}
    words = [sys.executable, "-c", OWNER, str(tmp_path / "second")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        assert owner.stdout.readline() == "started\n"
        started = descendants(owner.pid)
        assert {"munged", "slurmctld", "slurmd", "srun", "sleep"} <= {
            read(Path(f"/proc/{pid}/comm")).strip() for pid in started
        }
        assert addresses(started) == {LOOPBACK}
        if end is None:
            owner.stdin.close()
            assert owner.wait(120) == 0
        else:
            owner.send_signal(end)
    cluster.wait_for("the end of its processes", lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))
    assert cluster.call("sinfo", "--noheader", "--format=%T") == "idle\n"  # the first cluster stands as before


def descendants(pid: int) -> set[int]:
    """The processes that came of one, all generations."""
    children = [int(child) for task in Path(f"/proc/{pid}/task").glob("*/children") for child in read(task).split()]
    return set(children).union(*map(descendants, children))


def read(file: Path) -> str:
    """What /proc says, which is nothing where the process has ended."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def addresses(pids: set[int]) -> set[str]:
    """Where processes accept connections, in the kernel's hexadecimal."""
    sockets = set()
    for link in (link for pid in pids for link in Path(f"/proc/{pid}/fd").glob("*")):
        with suppress(FileNotFoundError):  # closed since
            sockets.add(str(link.readlink()))
    table = [line.split()[:10] for file in ("tcp", "tcp6") for line in read(Path("/proc/net", file)).splitlines()]
    return {
        local.rpartition(":")[0]
        for _, local, _, state, *_, inode in table
        if state == LISTENING and f"socket:[{inode}]" in sockets
    }
