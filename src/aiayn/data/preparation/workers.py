"""Processes that encode shards: one thread of this process feeds each, and they end with it, however it ends."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue

from aiayn.data.preparation.shards import ShardEncoder, ShardText

_PATIENCE = 10
"""Seconds that a process without work has to end."""


@contextmanager
def encoding_processes(encoder: ShardEncoder, number: int) -> Iterator[Callable[[ShardText], int]]:
    """Start processes, and yield `ShardEncoder.write` done by whichever of them is free; for `number` threads at once.

    A process that has lost this one reads the end of its pipe and leaves: nothing but this process holds the other end,
    since each is started anew and inherits none.
    """
    free: SimpleQueue[Connection] = SimpleQueue()

    def write(text: ShardText) -> int:
        connection = free.get()
        try:
            connection.send(text)
            answer = connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise OSError("a process that encoded was killed, perhaps for want of memory") from None
        free.put(connection)
        if isinstance(answer, BaseException):
            raise answer
        return int(answer)

    with ExitStack() as stack:
        for _ in range(number):
            free.put(stack.enter_context(_started(encoder)))
        yield write


@contextmanager
def _started(encoder: ShardEncoder) -> Iterator[Connection]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, encoder), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(_PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
        process.close()


def _serve(connection: Connection, encoder: ShardEncoder) -> None:
    """Encode what comes until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one decides
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # as many processes as cores are meant to run
    try:
        while True:
            text = connection.recv()
            try:
                connection.send(encoder.write(text))
            except OSError as error:  # a full disk, which the first process reports
                connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
