"""Processes that encode shards; each serves one thread of this process and exits with it."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue

from aiayn.data.preparation.shards import ShardEncoder, ShardText

_EXIT_TIMEOUT = 10
"""Seconds after which an idle process is killed."""


@contextmanager
def encoding_processes(encoder: ShardEncoder, number: int) -> Iterator[Callable[[ShardText], int]]:
    """Start processes, and yield a `ShardEncoder.write` that runs in a free one; for `number` threads.

    The processes also exit when this one is killed: they are spawned and inherit no pipe, so each reads the end of its
    own.
    """
    free: SimpleQueue[Connection] = SimpleQueue()

    def write(text: ShardText) -> int:
        connection = free.get()
        try:
            connection.send(text)
            answer = connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise OSError("an encoding process was killed, perhaps because memory ran out") from None
        free.put(connection)
        if isinstance(answer, BaseException):
            raise answer
        return int(answer)

    with ExitStack() as stack:
        for _ in range(number):
            free.put(stack.enter_context(_process(encoder)))
        yield write


@contextmanager
def _process(encoder: ShardEncoder) -> Iterator[Connection]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, encoder), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(_EXIT_TIMEOUT)
        if process.is_alive():
            process.kill()
            process.join()
        process.close()


def _serve(connection: Connection, encoder: ShardEncoder) -> None:
    """Encode shards until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent handles it
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there is one process per core
    try:
        while True:
            text = connection.recv()
            try:
                connection.send(encoder.write(text))
            except OSError as error:  # a full disk, which the parent reports
                connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
