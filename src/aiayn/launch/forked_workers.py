"""Worker processes: started anew, or forked from a fork server (`aiayn.launch.fork_server`).

Importing takes longer than the rest of a short job, so the jobs of a multirun are forks of a process that has done it.
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
from typing import TYPE_CHECKING, TypeAlias

from aiayn.launch.ranks import FOLDER
from aiayn.system import machine
from aiayn.system.orphans import STARTER

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

GROUP, WORKER, FORK_SERVER = "aiayn.launch.group", "aiayn.launch.worker", "aiayn.launch.fork_server"

JOB_VARIABLES = (FOLDER, STARTER, machine.VISIBLE)
"""Environment variables that may differ between jobs of one fork server: no library reads them when imported."""

TITLE_ROOM = " " * 4000
"""The fork server's last argument: the titles of its workers cannot outgrow its command line."""


@dataclass(frozen=True)
class Request:
    """A worker to fork."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    """Those of `JOB_VARIABLES` that are set."""
    folder: str
    cores: frozenset[int]
    descriptors: int
    """The number that follow: the pipe for its process id and exit code, and the locks that it inherits."""


def start_worker(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    descriptors: Sequence[int],
    is_forked: bool,
    module: str = WORKER,
) -> "Started":
    """Start a worker, or the agent of several (`GROUP`), in a session of its own; a worker as a fork if possible."""
    if is_forked and module == WORKER and sys.platform == "linux":  # libraries of macOS do not survive a fork
        worker = _fork_server_of(environment).fork(words, environment, descriptors)
        if worker is not None:
            return worker
    return subprocess.Popen([*_python(module), *words], env=environment, start_new_session=True, pass_fds=descriptors)


def _python(module: str) -> list[str]:
    """The command of a module, which imports from the working folder only where this process does.

    Otherwise a json.py or torch.py there would be imported instead of the library.
    """
    has_folder = "" in sys.path or str(Path.cwd()) in sys.path
    return [sys.executable, *([] if has_folder else ["-P"]), "-m", module]


class ForkServer:
    """This process's end of its fork server; the environment has all variables of the workers but `JOB_VARIABLES`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._requests, theirs = Pipe()
        words = [*_python(FORK_SERVER), str(theirs.fileno()), TITLE_ROOM]
        with theirs:
            # In a session of its own: signals of the terminal reach the command alone.
            self._process = subprocess.Popen(
                words, env=environment, start_new_session=True, pass_fds=(theirs.fileno(),)
            )

    def fork(
        self, words: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]
    ) -> "ForkedWorker | None":
        """A new worker; None once the fork server has ended."""
        if self._process.poll() is not None:
            return None
        results, sender = Pipe(duplex=False)
        request = Request(
            words=tuple(words),
            environment={name: environment[name] for name in JOB_VARIABLES if name in environment},
            folder=str(Path.cwd()),
            cores=frozenset(machine.cores()),
            descriptors=1 + len(descriptors),
        )
        try:
            with sender:
                self._requests.send(request)
                for descriptor in (sender.fileno(), *descriptors):
                    send_handle(self._requests, descriptor, self._process.pid)
            return ForkedWorker(int(results.recv()), results)
        except BaseException as error:  # also a Ctrl-C while it imports, after which it might still fork
            results.close()
            self.end()
            if isinstance(error, OSError | EOFError):
                return None
            raise

    def end(self) -> None:
        """End the fork server; no job may be running."""
        self._requests.close()
        self._process.kill()
        self._process.wait()


class ForkedWorker:
    """A child of the fork server, with the interface of `subprocess.Popen`."""

    def __init__(self, pid: int, results: "Connection[int, int]") -> None:
        self.pid = pid
        self.results = results
        self._code: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, negative for a signal; -SIGKILL if the fork server was killed and the code is unknown."""
        if self._code is None:
            if not self.results.poll(timeout):
                assert timeout is not None
                raise subprocess.TimeoutExpired(WORKER, timeout)
            try:
                self._code = self.results.recv()
            except EOFError:
                self._code = -SIGKILL
            self.results.close()
        return self._code


Started: TypeAlias = "subprocess.Popen[bytes] | ForkedWorker"

_fork_servers: list[ForkServer] = []
"""At most one."""


def _fork_server_of(environment: Mapping[str, str]) -> ForkServer:
    shared = {name: value for name, value in environment.items() if name not in JOB_VARIABLES}
    if not _fork_servers or _fork_servers[0].environment != shared:
        end_fork_server()
        _fork_servers.append(ForkServer(shared))
    return _fork_servers[0]


def end_fork_server() -> None:
    """End this process's fork server, if it has one; the next job starts another."""
    while _fork_servers:
        _fork_servers.pop().end()


atexit.register(end_fork_server)
