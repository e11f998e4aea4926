"""Threads that compute the next items of an iterable while the current one is used."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def parallel_map(
    function: Callable[[_Item], _Result], items: Iterable[_Item], *, num_threads: int
) -> Generator[_Result]:
    """Yield the function's result for each item in order, computed in threads.

    At most `num_threads + 1` items are taken in advance, which bounds the memory. Closing the generator waits for the
    threads.
    """
    remaining = iter(items)
    with ThreadPoolExecutor(num_threads, thread_name_prefix="parallel-map") as threads:
        pending: deque[Future[_Result]] = deque(
            threads.submit(function, item) for item in islice(remaining, num_threads + 1)
        )
        try:
            while pending:
                result = pending.popleft().result()
                pending.extend(threads.submit(function, item) for item in islice(remaining, 1))
                yield result
        finally:
            threads.shutdown(cancel_futures=True)


def prefetch(items: Iterable[_Item], *, depth: int) -> Generator[_Item]:
    """Yield the items, none of which may be None, while a thread takes up to `depth` next ones.

    An exception in the thread is raised in place of its item.
    """
    # A generator that is suspended when the interpreter exits must not run any code then, so there is no cleanup here:
    # the thread ends when its executor is garbage-collected with the generator.
    remaining = iter(items)
    thread = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
    pending = deque(thread.submit(next, remaining, None) for _ in range(depth))
    while (item := pending.popleft().result()) is not None:
        pending.append(thread.submit(next, remaining, None))
        yield item
