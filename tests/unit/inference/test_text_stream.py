"""Windows partition a stream in order, without reading ahead."""

from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.inference.text_stream import windows


@given(st.lists(st.integers()), st.integers(1, 9))
def test_windows_partition_the_stream(items: list[int], size: int) -> None:
    cut = list(windows(iter(items), size))
    assert list(chain.from_iterable(cut)) == items
    assert all(len(window) == size for window in cut[:-1])
    assert all(cut)


@given(st.integers(0, 20), st.integers(1, 6))
def test_nothing_is_read_ahead_of_a_window(length: int, size: int) -> None:
    read = []

    def stream() -> Iterator[int]:
        for number in range(length):
            read.append(number)
            yield number

    for window in windows(stream(), size):
        assert read[-1] == window[-1]


@given(st.integers(0, 20), st.integers(1, 6))
def test_an_error_is_raised_after_the_items_before_it(length: int, size: int) -> None:
    def stream() -> Iterator[int]:
        yield from range(length)
        raise UserError("bad")

    cut, found = windows(stream(), size), []
    for _ in range(-(-length // size)):
        found += next(cut)
    assert found == list(range(length))
    with pytest.raises(UserError, match="bad"):
        next(cut)
