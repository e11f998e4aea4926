"""Runs in a process of Ray: starts a job's processes on this node, and returns how they ended.

Each is a process of its own: it has signals, threads and devices to itself, and ends when this one is gone.
"""

import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from aiayn.system import files
from aiayn.system.orphans import STARTER

NODES_OWN = ("PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR", "HOSTNAME", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Environment variables in which a node may differ from that of the command."""

INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
"""By default gloo takes the address of the host's name, at which other hosts may not reach it."""

SHUTDOWN_SECONDS = 15.0
"""Time for the other processes of a job to end by themselves after one has failed."""

POLL_SECONDS = 0.1

ENDED_HERE = 1
"""The exit code that stands for the end of a process by its agent."""

SIOCGIFADDR = 0x8915
"""Linux: the address of a network interface."""


@dataclass(frozen=True)
class Part:
    """The processes of a job on one node, and their input."""

    payload: bytes
    """The pickled job."""
    folder: str
    """The working directory."""
    environment: Mapping[str, str]
    """Of the command."""
    groups: Sequence[Mapping[str, str]]
    """For each process, the variables of its process group."""
    logs: Sequence[str]
    """For each process, the file that its output is added to."""


def missing_folders(folders: Sequence[str]) -> list[str]:
    """Those of the folders that this node does not have."""
    return [folder for folder in folders if not files.is_dir(Path(folder))]


class Agent:
    """Holds one node's share of a job's resources."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._starting = threading.Lock()
        self._is_stopped = threading.Event()
        self._has_lost = threading.Event()

    def meeting_point(self, address: str) -> int:
        """A free port of this node's address, at which the ranks of a job can meet."""
        with socket.socket() as found:
            found.bind((address, 0))
            return int(found.getsockname()[1])

    def missing_folders(self, folders: Sequence[str]) -> list[str]:
        """See `missing_folders`."""
        return missing_folders(folders)

    def run(self, part: Part, address: str) -> list[int]:
        """Run processes to their ends.

        Args:
            part: their input.
            address: of this node.

        Returns:
            Their exit codes: negative for a process ended by a signal, `ENDED_HERE` for one that was ended here because
            another one had failed.
        """
        try:
            for group, log in zip(part.groups, part.logs, strict=True):
                with self._starting:
                    if not self._is_stopped.is_set():
                        self._processes.append(_started(part, group, log, address))
            return self._waited()
        finally:
            self._kill()
            for process in self._processes:
                process.wait()

    def stop(self, number: signal.Signals) -> None:
        """Ask the processes by a signal to stop with a checkpoint, and start no more."""
        with self._starting:
            self._is_stopped.set()
        for process in self._processes:  # not to those that they have started, which may not handle it
            process.send_signal(number)

    def end_soon(self) -> None:
        """Give the processes `SHUTDOWN_SECONDS` to end by themselves: another node's have failed."""
        self._has_lost.set()

    def _waited(self) -> list[int]:
        ends, ended_here = None, set[subprocess.Popen[bytes]]()
        while None in (codes := [process.poll() for process in self._processes]):
            if ends is None and (self._has_lost.is_set() or any(codes)):
                ends = time.monotonic() + SHUTDOWN_SECONDS
            if ends is not None and time.monotonic() > ends:
                ended_here |= {process for process in self._processes if process.poll() is None}
                self._kill()
            time.sleep(POLL_SECONDS)
        return [ENDED_HERE if process in ended_here else process.wait() for process in self._processes]

    def _kill(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def _started(part: Part, group: Mapping[str, str], log: str, address: str) -> subprocess.Popen[bytes]:
    interface = interface_of(address)
    own = {name: os.environ[name] for name in NODES_OWN if name in os.environ}
    meeting = dict.fromkeys(INTERFACES, interface) if group and interface else {}
    with Path(log).open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "aiayn.extensions.cluster.ray_job"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=part.folder,
            env={**meeting, **own, **part.environment, **group, STARTER: str(os.getpid())},
            start_new_session=True,
        )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:  # it has ended at once: its exit code is returned
        pipe.write(part.payload)
    return process


def interface_of(address: str) -> str | None:
    """The network interface with an IPv4 address; None if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # it has no address
                found = fcntl.ioctl(asked, SIOCGIFADDR, struct.pack("256s", name.encode()))
                if socket.inet_ntoa(found[20:24]) == address:
                    return name
    return None
