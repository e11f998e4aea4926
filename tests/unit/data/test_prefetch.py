"""Working ahead changes no result, takes few items early, and ends with whoever waits."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data.batches.prefetch import mapped_ahead, prefetched


@given(st.lists(st.integers()), st.integers(1, 4))
def test_results_come_in_order_and_few_items_are_taken_ahead(items: list[int], at_once: int) -> None:
    taken: list[int] = []

    def taking() -> Iterator[int]:
        for item in items:
            taken.append(item)
            yield item

    for number, result in enumerate(mapped_ahead(str, taking(), at_once=at_once)):
        assert result == str(items[number])
        assert len(taken) <= number + at_once + 2
    assert taken == items


def test_a_failure_reaches_whoever_waits_and_leaves_no_thread() -> None:
    threads = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        list(mapped_ahead(lambda item: 1 // item, [2, 1, 0, 1, 2], at_once=2))
    abandoned = mapped_ahead(str, range(10), at_once=2)
    next(abandoned)
    abandoned.close()
    assert threading.active_count() == threads


def test_items_are_worked_on_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=20)
    assert list(mapped_ahead(lambda item: (meeting.wait(), item)[1], range(4), at_once=2)) == [0, 1, 2, 3]


@given(st.lists(st.integers()), st.integers(1, 4))
def test_prefetched_items_come_in_order_and_few_are_taken_early(items: list[int], depth: int) -> None:
    taken: list[int] = []

    def taking() -> Iterator[int]:
        for item in items:
            taken.append(item)
            yield item

    for number, item in enumerate(prefetched(taking(), depth=depth)):
        assert item == items[number]
        assert len(taken) <= number + depth + 1
    assert taken == items


def test_the_next_item_is_made_while_this_one_is_used() -> None:
    used = threading.Event()

    def waiting() -> Iterator[int]:
        yield 1
        assert used.wait(timeout=20)
        yield 2

    items = prefetched(waiting(), depth=1)
    assert next(items) == 1
    used.set()
    assert list(items) == [2]


def test_what_fails_ahead_is_raised_in_its_turn_and_no_thread_stays() -> None:
    threads = threading.active_count()
    items = prefetched((1 // number for number in (1, 1, 0, 1)), depth=3)
    assert [next(items), next(items)] == [1, 1]
    with pytest.raises(ZeroDivisionError):
        next(items)
    abandoned = prefetched(iter(range(9)), depth=3)
    next(abandoned)
    del abandoned
    assert threading.active_count() == threads
