"""A Ray cluster of two nodes on this machine, in a network of its own where this is root, and ended by process id.

`python nodes.py` says what is missing here, and exits with 1.
"""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

CORES = 2
"""Of the head, as Ray counts them."""

MORE_CORES = 3
"""Of a further node: jobs that want as many are not on the head, which cannot be lost."""

ADDRESS = "127.0.0.1"

START_SECONDS = 120.0


def missing() -> list[str]:
    """What a cluster that takes jobs needs and is not here."""
    remedy = "pip install -e '.[ray]' 'ray[default]' in the checkout"
    return [
        f"the package {name}: {remedy}" for name in ("ray", "aiohttp_cors") if importlib.util.find_spec(name) is None
    ]


class RayCluster:
    """Starts a head and a second node; use as a context manager."""

    def __init__(self) -> None:
        # The paths of Ray's sockets have to be short.
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        self._network: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0 and shutil.which("unshare") and shutil.which("nsenter") and shutil.which("ip"):
            self._network = subprocess.Popen(
                ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"],
                stdout=subprocess.PIPE,
            )
            assert self._network.stdout is not None
            self._network.stdout.readline()
            self._network.stdout.close()
        self.port, self.jobs_port = free_port(), free_port()
        self.nodes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self.start_head()
            self.start_node()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End all nodes and remove their files."""
        for node in [*self.nodes]:
            self.lose(node)
        if self._network is not None:
            self._network.kill()
            self._network.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def jobs_address(self) -> str:
        """Where `ray job submit` sends jobs."""
        return f"http://{ADDRESS}:{self.jobs_port}"

    @property
    def environment(self) -> dict[str, str]:
        """Of commands that use the cluster."""
        own = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
        options = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}  # whatever token is in the home folder
        return {**own, **options, "RAY_ADDRESS": f"{ADDRESS}:{self.port}"}

    def words(self, *command: str) -> list[str]:
        """A command line in the cluster's network."""
        network = [] if self._network is None else ["nsenter", f"--net=/proc/{self._network.pid}/ns/net"]
        return [*network, *command]

    def start_head(self) -> subprocess.Popen[bytes]:
        """The first node, with the cluster's own services."""
        return self._start(
            CORES,
            *("--head", f"--port={self.port}", f"--temp-dir={self.folder}"),
            *("--include-dashboard=true", f"--dashboard-host={ADDRESS}", f"--dashboard-port={self.jobs_port}"),
        )

    def start_node(self, cores: int = MORE_CORES, *, without: Path | None = None) -> subprocess.Popen[bytes]:
        """A further node; `without` is a folder whose content it does not see."""
        hidden = [without] if without is not None else []
        if os.geteuid() == 0:  # the folder into which each node unpacks the files of jobs
            hidden.append((self.folder / "session_latest/runtime_resources").resolve())
        return self._start(cores, f"--address={ADDRESS}:{self.port}", without=hidden)

    def lose(self, node: subprocess.Popen[bytes]) -> None:
        """Kill a node's processes, as a machine that fails does, and wait until they are gone."""
        processes = self.processes_of(node)
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        node.wait()
        end = time.monotonic() + START_SECONDS
        while any(map(_is_running, processes)):
            assert time.monotonic() < end
            time.sleep(0.1)
        self.nodes.remove(node)

    def processes_of(self, node: subprocess.Popen[bytes]) -> list[int]:
        """A node's processes but those of jobs, its own first."""
        return [node.pid, *(process for process in descendants(node.pid) if "aiayn" not in command_of(process))]

    def _start(self, cores: int, *options: str, without: Sequence[Path] = ()) -> subprocess.Popen[bytes]:
        log = self.folder / f"node-{len(self.nodes)}.log"
        self.folder.mkdir(exist_ok=True)
        with log.open("wb") as output:
            node = subprocess.Popen(
                self.words(
                    *hiding(*without),
                    sys.executable,
                    *("-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats", *options),
                    *(f"--node-ip-address={ADDRESS}", f"--num-cpus={cores}"),
                ),
                env={key: value for key, value in self.environment.items() if key != "RAY_ADDRESS"},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.nodes.append(node)
        end = time.monotonic() + START_SECONDS
        while b"Ray runtime started." not in log.read_bytes():
            assert node.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        return node


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as found:
        found.bind((ADDRESS, 0))
        return int(found.getsockname()[1])


def hiding(*folders: Path) -> list[str]:
    """Words before a command that replace folders by empty file systems for it; only root may."""
    script = 'mount -t tmpfs none "$0" && exec "$@"'
    return [word for folder in folders for word in ("unshare", "--mount", "sh", "-c", script, str(folder))]


def descendants(process: int) -> list[int]:
    """The processes below one, itself left out."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(folder.name))
    found, new = list[int](), [process]
    while new:
        new = [child for each in new for child in parents.get(each, [])]
        found += new
    return found


def command_of(process: int) -> str:
    """The command line of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def job_processes(words: Sequence[str], folder: Path) -> list[int]:
    """The processes that work in a folder, and whose command line has all of the words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder and all(word in command_of(int(process.name)) for word in words):
                found.append(int(process.name))
    return sorted(found)


def _is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    if lacking := missing():
        sys.exit(f"a Ray cluster needs {'; '.join(lacking)}")
