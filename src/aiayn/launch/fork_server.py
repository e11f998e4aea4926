"""The process that the workers of a multirun are forked from, one after another; it has imported the libraries.

Started by `aiayn.launch.forked_workers`: `python -m aiayn.launch.fork_server <descriptor> <room for a longer title>`.
It ends with the process that started it.
"""

import atexit
import ctypes
import gc
import os
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path

import numpy as np

from aiayn.launch.forked_workers import FORK_SERVER, JOB_VARIABLES, WORKER, Request

LIBRARIES = (WORKER, "sacrebleu", "sacremoses", "torch.utils.data")
"""Imported by every run. None may start threads, as pyarrow below `datasets` does: a fork would lose them."""


def main() -> int:
    """Fork a worker for each request; in the worker, its exit code."""
    requests: Connection[object, Request] = Connection(int(sys.argv[1]))
    set_title((sys.executable, "-m", FORK_SERVER))
    for library in LIBRARIES:
        import_module(library)
    if not can_fork():
        return 1
    gc.collect()
    gc.freeze()  # otherwise each worker's first collection would write to every page and so copy it
    while True:
        try:
            request = requests.recv()
            descriptors = [recv_handle(requests) for _ in range(request.descriptors)]
        except EOFError:
            return 0
        sys.stdout.flush()
        worker = os.fork()
        if worker == 0:
            requests.close()
            return _work_and_exit(request, descriptors)
        _, status = os.waitpid(worker, 0)
        for lock in descriptors[1:]:
            os.close(lock)
        if not _send(descriptors[0], os.waitstatus_to_exitcode(status)):
            return 0


def can_fork() -> bool:
    """Whether a fork would work like a new process: no other Python thread, no GPU driver is open."""
    # OpenBLAS ends its own threads before a fork.
    opened = (path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink())
    return threading.active_count() == 1 and not any(file.name.startswith("nvidia") for file in opened)


def set_title(words: Sequence[str]) -> None:
    """Show these words in `ps` and `pgrep -f`, cut to the length of the command line."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5), which counts from the process id
    text = b"\0".join(word.encode(errors="surrogateescape") for word in words)
    if 0 < start < end:
        ctypes.memmove(start, text[: end - start - 1].ljust(end - start, b"\0"), end - start)


def _work_and_exit(request: Request, descriptors: Sequence[int]) -> int:
    """Be a worker, and exit after its exit handlers without a teardown of the interpreter.

    A teardown takes 0.3 s, and Triton's extension prints 29 lines about frozen objects. Exit handlers that the fork
    server's libraries have registered are not called, as for any fork of `multiprocessing` since Python 3.13.
    """
    code = 1  # after an exception that is not caught

    def end() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    atexit.register(end)  # called after all that the worker registers, and before those of the fork server
    code = _work(request, descriptors)
    return code


def _work(request: Request, descriptors: Sequence[int]) -> int:
    """Be a worker as `subprocess` would start it; the descriptors after the first are locks and stay open."""
    os.setsid()
    np.random.seed()  # the global generator, which all forks would share; Python seeds its own after a fork
    os.chdir(request.folder)
    os.sched_setaffinity(0, request.cores)
    for name in JOB_VARIABLES:
        os.environ.pop(name, None)
    os.environ.update(request.environment)
    worker = import_module(WORKER)
    sys.argv = [str(worker.__file__), *request.words]
    set_title((sys.executable, "-m", WORKER, *request.words))
    if not _send(descriptors[0], os.getpid()):
        return 1
    code: int = worker.main()
    return code


def _send(descriptor: int, number: int) -> bool:
    """Send a process id or an exit code to the command and close this end; False if the command is gone."""
    try:
        with Connection(descriptor, readable=False) as connection:
            connection.send(number)
    except BrokenPipeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
