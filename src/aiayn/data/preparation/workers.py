"""Processes that encode shards; they exit with this one."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process

from aiayn.data.preparation.shards import ShardEncoder, ShardText
from aiayn.errors import KilledRunError

_encoders: list[ShardEncoder] = []
"""The encoder of a worker process."""


@contextmanager
def encoding_processes(encoder: ShardEncoder, number: int) -> Iterator[Callable[[ShardText], int]]:
    """Start processes, and yield a `ShardEncoder.write` that runs in one of them; for `number` threads.

    It raises a KilledRunError if one of them is killed: a build that fails with it keeps the finished shards.
    """
    with ProcessPoolExecutor(number, get_context("spawn"), initializer=_start, initargs=(encoder,)) as pool:

        def write(text: ShardText) -> int:
            try:
                return pool.submit(_write, text).result()
            except BrokenProcessPool:
                raise KilledRunError(
                    "an encoding process was killed, perhaps because memory ran out; rerun the command to resume, with "
                    "fewer launch.preparation_processes"
                ) from None

        yield write


def _start(encoder: ShardEncoder) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent handles it
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there is one process per core
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    _encoders.append(encoder)


def _exit_with_parent() -> None:
    """Exit also when the parent is killed: the pool's pipes would stay open, since its processes share them."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _write(text: ShardText) -> int:
    return _encoders[0].write(text)
