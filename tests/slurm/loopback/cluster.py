"""A real Slurm of two nodes on this machine's loopback, running inside a block.

Its authentication, its ports and its files are its own: the system's Slurm and munge, if there are any, are neither
used nor disturbed, and several clusters can stand side by side. There is no accounting: `sacct` does not answer, as on
many a small cluster. The nodes are called n1 and n2, names that this machine cannot resolve, as where nodes have a
network of their own. To its jobs the host is localhost.

Started as a program, it says what this machine lacks, if anything, and fails then.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

NODES = ("n1", "n2")
GRACE_SECONDS = 60
"""The time of a preempted job between its signal and its end."""

PACKAGES = {
    "munge": ("munged",),
    "slurm-wlm": ("slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scancel", "scontrol", "srun"),
    "util-linux": ("unshare",),
}
"""The programs that a cluster needs, by Debian package."""

PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
"""Search path of the programs, including the folders of daemons."""

CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log

# Nothing listens but on loopback.
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits until its credential has expired.
AuthInfo=socket={folder}/munge.socket,cred_expire=5

# Neither control groups nor accounting: nothing of the machine but processes, files and ports.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none

SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=n[1-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{node_ports}] CPUs=2 RealMemory=65536 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime={grace} MaxTime=60 State=UP
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF MaxTime=60 State=UP

# Rendezvous ports are made of job ids: two clusters on a machine must not count alike.
FirstJobId={control_port}
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal

# Prompt where there is something to do, patient where the machine is busy.
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
MessageTimeout=60
TCPTimeout=30
BatchStartTimeout=120
UnkillableStepTimeout=300
"""


class Cluster:
    """Two nodes of two CPUs, a partition `main` and one, `urgent`, whose jobs preempt those of `main`."""

    def __init__(self, folder: Path) -> None:
        """
        Args:
            folder: where everything of the cluster lies, its logs too; made here. Its path has to be short, for there
                are sockets in it.
        """
        self.folder = folder
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH"))}
        self.environment: Mapping[str, str] = {**inherited, "PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}
        """The environment of programs that use this cluster."""

    def __enter__(self) -> Self:
        self.folder.mkdir(mode=0o700)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o600)
        self._keeper = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("keeper.py"))],
            stdin=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.folder,
            start_new_session=True,  # a Ctrl-C is for the tests, which then leave this block
        )
        try:
            self._start_daemons()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def call(self, *words: str, seconds: float = 120) -> str:
        """The standard output of a program that speaks to this cluster.

        Not of `srun` or `salloc`, which nodes would have to reach at this machine's own name; in jobs they work.
        """
        done = subprocess.run(
            words, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout

    def submit(self, script: str, *options: str) -> str:
        """Hand a shell script to `sbatch`; the id of the job. Its output is in `output(id)`."""
        path = f"{self.folder}/job-%A.out"
        options = ("--open-mode=append", f"--output={path}", *options)
        return self.call("sbatch", "--parsable", *options, f"--wrap={script}").strip()

    def output(self, job: str) -> str:
        """The output of all attempts of a job so far."""
        file = self.folder / f"job-{job}.out"
        return file.read_text() if file.exists() else ""

    def job(self, job: str) -> dict[str, str]:
        """The fields of `scontrol show job`."""
        shown = self.call("scontrol", "--oneliner", "show", "job", job)
        return dict(word.split("=", 1) for word in shown.split() if "=" in word)

    def clear(self) -> None:
        """End every job; one that does not go on SIGTERM is killed after half a minute (KillWait)."""
        for partition in ("main", "urgent"):
            self.call("scancel", f"--partition={partition}")
        self.wait_for("both nodes are idle", self._idle)

    def wait_for(self, what: str, holds: Callable[[], bool], *, seconds: float = 180) -> None:
        """Return when the condition holds; otherwise fail, with the ends of the daemons' logs."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert self._keeper.poll() is None, "the keeper of the cluster's processes has ended"
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not in {seconds:.0f} s\n{self._logs()}")
            time.sleep(0.1)

    def _start_daemons(self) -> None:
        with free_ports(1 + len(NODES)) as (control_port, *node_ports):
            (self.folder / "slurm.conf").write_text(
                CONFIGURATION.format(
                    folder=self.folder,
                    control_port=control_port,
                    node_ports=",".join(map(str, node_ports)),
                    grace=GRACE_SECONDS,
                )
            )
            self._start("munged", "munged", "--foreground", "--force", *self._munge_files())
            self.wait_for("munged listens", (self.folder / "munge.socket").exists)
            self._start("slurmctld", "slurmctld", "-D")
            for node in NODES:
                self._start(f"slurmd.{node}", "slurmd", "-D", "-N", node)
            self.wait_for("both nodes are idle", self._idle)

    def _munge_files(self) -> list[str]:
        files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        return [f"--{option}={self.folder / 'munge'}.{suffix}" for option, suffix in files.items()]

    def _idle(self) -> bool:
        sinfo = ["sinfo", "--noheader", "--Node", "--partition=main", "--format=%N %T"]
        shown = subprocess.run(sinfo, env=self.environment, capture_output=True, text=True, timeout=120, check=False)
        return shown.stdout.split() == [word for node in NODES for word in (node, "idle")]

    def _start(self, name: str, *words: str) -> None:
        assert self._keeper.stdin is not None
        print(json.dumps([f"{self.folder}/{name}.out", *words]), file=self._keeper.stdin, flush=True)

    def _end(self) -> None:
        """End the daemons and all their descendants."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait(60)

    def _logs(self) -> str:
        logs = sorted((*self.folder.glob("*.out"), *self.folder.glob("*.log")))
        return "\n".join(f"== {log.name}\n" + "\n".join(log.read_text().splitlines()[-20:]) for log in logs)


def missing() -> list[str]:
    """The missing requirements of a cluster, in words."""
    lacking = {
        package: [program for program in programs if shutil.which(program, path=PATH) is None]
        for package, programs in PACKAGES.items()
    }
    words = [f"{', '.join(programs)} (Debian package {package})" for package, programs in lacking.items() if programs]
    if not words and subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False).returncode:
        words.append("the rights of root, with leave to name a host (unshare --uts)")
    return words


@contextmanager
def free_ports(count: int) -> Iterator[list[int]]:
    """Ports of loopback that are reserved within the block, but can be listened on.

    A socket that is bound and does not listen keeps the system from choosing the port for somebody else, and does not
    keep a daemon that sets SO_REUSEADDR, as Slurm's do, from taking it.
    """
    held = [socket.socket() for _ in range(count)]
    try:
        for place in held:
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            place.bind(("127.0.0.1", 0))
        yield [place.getsockname()[1] for place in held]
    finally:
        for place in held:
            place.close()


if __name__ == "__main__" and (lacking := missing()):
    sys.exit(f"A Slurm cluster on this machine needs {'; '.join(lacking)}.")
