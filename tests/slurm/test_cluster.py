"""The cluster that the tests of Slurm stand on does what real ones do."""

from collections import Counter
from collections.abc import Iterator

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
    job = cluster.submit("echo go ${SLURM_RESTART_COUNT:-0}; test $SLURM_RESTART_COUNT || sleep 300")
    cluster.wait_for("its first go", lambda: lines(cluster, job)["go 0"] == 1)
    cluster.call("scontrol", "requeue", job)
    wait_for_state(cluster, job, "COMPLETED")
    assert lines(cluster, job)["go 1"] == 1


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
