"""Two hosts on one machine: network namespaces of the kernel's, joined by a cable that can be pulled."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

INTERFACE = "cable0"
ADDRESSES = ("10.77.0.1", "10.77.0.2")
IS_ROOT = os.geteuid() == 0
KEEPER = 'hostname "$0" && ip link set lo up && echo ready && exec cat'
"""What keeps a host's namespaces: it reads from the test until that has closed the pipe, or is gone."""


@dataclass(frozen=True)
class Host:
    """A host with a name, a network and a loopback of its own; files and cores are shared with the other."""

    name: str
    address: str
    keeper: int
    """The process whose namespaces the host is."""

    def start(self, *words: str, folder: Path, environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
        """Start a command here; what it says on either stream goes to a file."""
        with log.open("wb") as stream:
            return subprocess.Popen(
                [*_inside(self.keeper), *words],
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def link(self, state: str) -> None:
        """Plug the cable in, "up", or pull it out, "down": packets are lost then, and nobody is told."""
        self.run("ip", "link", "set", INTERFACE, state)

    def run(self, *words: str) -> None:
        """Do a command here to its end."""
        subprocess.run([*_inside(self.keeper), *words], check=True)

    def processes(self) -> list[int]:
        """All that runs here."""
        here, found = Path(f"/proc/{self.keeper}/ns/net").readlink(), []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if process.name != str(self.keeper) and (process / "ns/net").readlink() == here:
                    found.append(int(process.name))
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
        return found

    def kill_all(self) -> None:
        """End all that runs here, at once."""
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Two hosts that see each other; the test is skipped where this machine does not let us make them.

    Nothing is left behind: processes are killed, and namespaces go with their keepers, which end with this process.
    """
    for tool in ("unshare", "nsenter", "ip"):
        if shutil.which(tool) is None:
            pytest.skip(f"no network namespaces here: {tool} is not installed")
    keepers: list[subprocess.Popen[str]] = []
    hosts: list[Host] = []
    try:
        for name, address in zip(("host-1", "host-2"), ADDRESSES, strict=True):
            keepers.append(_keeper(name, within=keepers[0].pid if keepers else None))
            hosts.append(Host(name, address, keepers[-1].pid))
        first, second = hosts
        peer = ("peer", "name", INTERFACE, "netns", str(second.keeper))
        first.run("ip", "link", "add", INTERFACE, "type", "veth", *peer)
        for host in hosts:
            host.run("ip", "address", "add", f"{host.address}/24", "dev", INTERFACE)
            host.link("up")
        yield first, second
    finally:
        for host in hosts:
            host.kill_all()
        for keeper in keepers:
            keeper.communicate()


def _keeper(name: str, *, within: int | None) -> subprocess.Popen[str]:
    """A process in namespaces of its own; without root's rights these need a user namespace, which all hosts share."""
    new_user = [] if IS_ROOT or within is not None else ["--user", "--map-root-user"]
    enter = [] if IS_ROOT or within is None else _inside(within)
    keeper = subprocess.Popen(
        [*enter, "unshare", *new_user, "--net", "--uts", "--", "sh", "-c", KEEPER, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert keeper.stdout is not None
    if keeper.stdout.readline() != "ready\n":
        pytest.skip(f"no network namespaces here: {keeper.communicate()[1].strip()}")
    return keeper


def _inside(keeper: int) -> Sequence[str]:
    user = [] if IS_ROOT else ["--user", "--preserve-credentials"]
    return ["nsenter", f"--target={keeper}", *user, "--net", "--uts", "--"]
