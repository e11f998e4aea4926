"""Prefetching keeps the order, takes few items in advance, and cleans up its threads."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data.batches.prefetch import parallel_map, prefetch

Mapped = Callable[[Iterable[int]], Iterator[int]]


def doubled(item: int) -> int:
    return 2 * item


def wait_for_threads(expected: int) -> None:
    deadline = time.monotonic() + 20
    while threading.active_count() > expected and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= expected  # a thread of an earlier test may have ended meanwhile


@given(st.lists(st.integers()), st.integers(1, 4), st.booleans())
def test_items_come_in_order_and_few_are_taken_in_advance(items: list[int], ahead: int, parallel: bool) -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for item in items:
            taken.append(item)
            yield item

    mapped = parallel_map(doubled, source(), num_threads=ahead) if parallel else prefetch(source(), depth=ahead)
    for number, result in enumerate(mapped):
        assert result == items[number] * (2 if parallel else 1)
        assert len(taken) <= number + ahead + 2
    assert taken == items


@pytest.mark.parametrize(
    "mapped", [partial(parallel_map, lambda item: item, num_threads=2), partial(prefetch, depth=3)], ids=["map", "pre"]
)
def test_an_error_is_raised_in_place_of_its_item_and_no_thread_remains(mapped: Mapped) -> None:
    threads = threading.active_count()
    items = mapped(1 // number for number in (1, 1, 1, 1, 0, 1))
    results: list[int] = []
    with pytest.raises(ZeroDivisionError):
        results.extend(items)
    abandoned = mapped(range(10))
    next(abandoned)
    del items, abandoned
    wait_for_threads(threads)


def test_a_map_runs_in_parallel() -> None:
    meeting = threading.Barrier(2, timeout=20)
    assert list(parallel_map(lambda item: (meeting.wait(), item)[1], range(4), num_threads=2)) == [0, 1, 2, 3]


def test_the_next_item_is_computed_while_this_one_is_used() -> None:
    used = threading.Event()

    def waiting() -> Iterator[int]:
        yield 1
        assert used.wait(timeout=20)
        yield 2

    items = prefetch(waiting(), depth=1)
    assert next(items) == 1
    used.set()
    assert list(items) == [2]


@pytest.mark.parametrize("owner", ["", "sys.modules['owner'] = items", "owner = [items]; owner.append(owner)"])
def test_a_suspended_prefetch_is_silent_when_the_interpreter_exits(owner: str) -> None:
    program = f"""
import sys
from itertools import count
from aiayn.data.batches.prefetch import prefetch
items = prefetch(count(), depth=2)
next(items)
{owner}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
