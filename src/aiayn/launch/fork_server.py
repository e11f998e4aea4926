"""What the workers of a multirun are forked from: a process that has imported the libraries, once for all of them.

Started by `aiayn.launch.forked_workers`: `python -m aiayn.launch.fork_server <descriptor> <room for other words>`. It
does one job after another and ends with the process that started it: at once, or when the job under way has noticed as
well.
"""

import atexit
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

from aiayn.launch.forked_workers import FORK_SERVER, WORKER, Request
from aiayn.system.process_title import retitle

LIBRARIES = (WORKER, "sacrebleu", "sacremoses", "torch.utils.data")
"""What every run imports. Not what starts threads, such as pyarrow below `datasets`: a fork would lose them."""


def main() -> int:
    """Fork a worker for each request; in the worker, its exit code."""
    requests: Connection[object, Request] = Connection(int(sys.argv[1]))
    retitle((sys.executable, "-m", FORK_SERVER))
    for library in LIBRARIES:
        import_module(library)
    if not is_fit_to_fork():
        return 1
    gc.collect()
    gc.freeze()  # else each worker's first collection would write to, and so copy, every page
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
            return _work_and_end(request, descriptors)
        _, status = os.waitpid(worker, 0)
        for lock in descriptors[1:]:
            os.close(lock)
        if not _tell(descriptors[0], os.waitstatus_to_exitcode(status)):
            return 0


def is_fit_to_fork() -> bool:
    """Whether a child would be as good as a fresh process: no other Python thread, no driver set up for this one.

    OpenBLAS, below NumPy, has threads of its own, and ends them by itself before a fork.
    """
    opened = (path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink())
    return threading.active_count() == 1 and not any(file.name.startswith("nvidia") for file in opened)


def _work_and_end(request: Request, descriptors: Sequence[int]) -> int:
    """Be a worker, and end when its exit handlers have been called, without a teardown of the interpreter.

    A teardown takes 0.3 s. It does not free what is frozen, and Triton's extension prints 29 lines about that; to free
    it as well would take 1.4 s.
    """
    code = 1  # of an exception that is not caught

    def end() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    atexit.register(end)  # before the worker registers any: the last one is called first
    code = _work(request, descriptors)
    return code


def _work(request: Request, descriptors: Sequence[int]) -> int:
    """Be a worker, as if started by `subprocess`: leader of a session, with the words and the place that it was given.

    The descriptors stay open, but for the first: they are locks.
    """
    os.setsid()
    np.random.seed()  # the global generator, which all forks would share; Python's own is seeded anew
    os.chdir(request.folder)
    os.sched_setaffinity(0, request.cores)
    for name, value in request.environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    worker = import_module(WORKER)
    sys.argv = [str(worker.__file__), *request.words]
    retitle((sys.executable, "-m", WORKER, *request.words))
    if not _tell(descriptors[0], os.getpid()):
        return 1
    code: int = worker.main()
    return code


def _tell(starter: int, number: int) -> bool:
    """Tell who waits for a worker its process or its exit code; whether there is still somebody."""
    try:
        with Connection(starter, readable=False) as connection:
            connection.send(number)
    except BrokenPipeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
