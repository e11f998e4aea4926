"""The cluster of the Slurm tests leaves nothing behind and is not reachable from other hosts."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from cluster import Cluster

pytestmark = pytest.mark.slurm

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
    """All descendants of a process."""
    children = [int(child) for task in Path(f"/proc/{pid}/task").glob("*/children") for child in read(task).split()]
    return set(children).union(*map(descendants, children))


def read(file: Path) -> str:
    """The content of a file in /proc; empty if the process has ended."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def addresses(pids: set[int]) -> set[str]:
    """The addresses on which processes listen, in the kernel's hexadecimal."""
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
