"""Workers in processes of their own: forked from one that has imported the libraries, or started anew.

Importing takes longer than everything else that a short job does. So the first job of a multirun starts a fork server
(`aiayn.launch.fork_server`), and each job is a fork of it: a process of its own all the same, which nothing of an
earlier job can reach.
"""

import atexit
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.reduction import send_handle
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING, Protocol

from aiayn.launch.members import FOLDER
from aiayn.system import machine
from aiayn.system.orphans import STARTER
from aiayn.system.process_title import ROOM

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

GROUP, WORKER, FORK_SERVER = "aiayn.launch.group", "aiayn.launch.worker", "aiayn.launch.fork_server"

OF_A_JOB = (FOLDER, STARTER, machine.VISIBLE)
"""Variables that may differ from job to job, since no library reads them before it is used."""


class Started(Protocol):
    """A process in a session of its own, as `subprocess.Popen` would have it."""

    @property
    def pid(self) -> int:
        """Its number, and that of its session."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code once it has ended; negative: the signal that ended it. `subprocess.TimeoutExpired` before."""


@dataclass(frozen=True)
class Request:
    """What a fork server is to fork."""

    words: tuple[str, ...]
    """The worker's arguments."""
    environment: Mapping[str, str | None]
    """Variables to set; None: to remove."""
    folder: str
    cores: frozenset[int]
    """What it may run on."""
    descriptors: int
    """How many follow: where to tell what becomes of the worker, and the locks that it inherits."""


def start_worker(
    words: Sequence[str], *, environment: Mapping[str, str], descriptors: Sequence[int], is_forked: bool
) -> Started:
    """Start a worker.

    Args:
        words: its arguments.
        environment: all its variables.
        descriptors: what it inherits beside the standard streams.
        is_forked: whether it may be a fork of this process's fork server, which is started where there is none.
    """
    if is_forked and sys.platform == "linux":  # elsewhere system libraries do not outlive a fork
        worker = _fork_server_of(environment).fork(words, environment, descriptors)
        if worker is not None:
            return worker
    return _start_anew(WORKER, words, environment, descriptors)


def start_group(words: Sequence[str], *, environment: Mapping[str, str], descriptors: Sequence[int]) -> Started:
    """Start the agent of several workers, which it starts itself; arguments as for one."""
    return _start_anew(GROUP, words, environment, descriptors)


def _start_anew(
    module: str, words: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]
) -> Started:
    return subprocess.Popen(
        [sys.executable, "-m", module, *words], env=environment, start_new_session=True, pass_fds=descriptors
    )


class ForkServer:
    """This process's end of its fork server.

    Args:
        environment: all variables of its workers but those `OF_A_JOB`: libraries read some when they are imported.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._requests, theirs = Pipe()
        words = [sys.executable, "-m", FORK_SERVER, str(theirs.fileno()), ROOM]
        with theirs:
            # A session of its own: what a terminal sends is for the command alone.
            self._process = subprocess.Popen(
                words, env=environment, start_new_session=True, pass_fds=(theirs.fileno(),)
            )
        self.is_fit = True
        """Whether it has not failed to fork."""

    def fork(
        self, words: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]
    ) -> "ForkedWorker | None":
        """A new worker; None, from now on, where the fork server came to grief or will not fork."""
        if not self.is_fit:
            return None
        told, teller = Pipe(duplex=False)
        request = Request(
            words=tuple(words),
            environment={name: environment.get(name) for name in OF_A_JOB},
            folder=str(Path.cwd()),
            cores=frozenset(machine.cores()),
            descriptors=1 + len(descriptors),
        )
        try:
            with teller:
                self._requests.send(request)
                for descriptor in (teller.fileno(), *descriptors):
                    send_handle(self._requests, descriptor, self._process.pid)
            return ForkedWorker(int(told.recv()), told)
        except (OSError, EOFError):
            self._give_up(told)
            return None
        except BaseException:  # a Ctrl-C while it imports: it may be about to fork
            self._give_up(told)
            raise

    def _give_up(self, told: "Connection[int, int]") -> None:
        self.is_fit = False
        told.close()
        self.end()

    def end(self) -> None:
        """End it, between two jobs."""
        self._requests.close()
        self._process.kill()
        self._process.wait()


class ForkedWorker:
    """A worker that is a child of this process's fork server.

    Args:
        pid: its number.
        told: where the fork server tells its exit code.
    """

    def __init__(self, pid: int, told: "Connection[int, int]") -> None:
        self._pid = pid
        self._told = told
        self._code: int | None = None

    @property
    def pid(self) -> int:
        """Its number, and that of its session."""
        return self._pid

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code once it has ended; as if killed where the fork server was, and nobody knows."""
        if self._code is None:
            if not self._told.poll(timeout):
                assert timeout is not None
                raise subprocess.TimeoutExpired(WORKER, timeout)
            try:
                self._code = self._told.recv()
            except EOFError:
                self._code = -SIGKILL
            self._told.close()
        return self._code


_fork_servers: list[ForkServer] = []
"""Of this process: at most one."""


def _fork_server_of(environment: Mapping[str, str]) -> ForkServer:
    shared = {name: value for name, value in environment.items() if name not in OF_A_JOB}
    if _fork_servers and _fork_servers[0].environment != shared:
        end_fork_server()
    if not _fork_servers:
        _fork_servers.append(ForkServer(shared))
    return _fork_servers[0]


def end_fork_server() -> None:
    """End this process's fork server, if it has one; the next job would start another."""
    while _fork_servers:
        _fork_servers.pop().end()


atexit.register(end_fork_server)
