"""Threads that work ahead of whoever waits for the results, by a few items and no more."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def mapped_ahead(function: Callable[[_Item], _Result], items: Iterable[_Item], *, at_once: int) -> Generator[_Result]:
    """Yield what a function makes of each item, in order, while threads work on those that come next.

    Items are taken as results are: `at_once` are worked on, and one waits for its turn. So the memory stays bounded,
    however fast they come.
    """
    remaining = iter(items)
    with ThreadPoolExecutor(at_once, thread_name_prefix="ahead") as threads:
        due: deque[Future[_Result]] = deque(threads.submit(function, item) for item in islice(remaining, at_once + 1))
        try:
            while due:
                result = due.popleft().result()
                due.extend(threads.submit(function, item) for item in islice(remaining, 1))
                yield result
        finally:
            threads.shutdown(cancel_futures=True)


def prefetched(items: Iterable[_Item], *, depth: int) -> Generator[_Item]:
    """Yield the items, none of which is None, while a thread takes up to `depth` that come next.

    What goes wrong in the thread is raised where its item was due.
    """
    remaining = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        due = deque(thread.submit(next, remaining, None) for _ in range(depth))
        try:
            while (item := due.popleft().result()) is not None:
                due.append(thread.submit(next, remaining, None))
                yield item
        finally:
            thread.shutdown(cancel_futures=True)
