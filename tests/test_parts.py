"""Parts of the suite hold every test once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts import is_in_part, read_part


@given(test=st.text(), parts=st.integers(1, 9))
def test_a_test_is_in_exactly_one_part(test: str, parts: int) -> None:
    assert [is_in_part(test, part, parts) for part in range(1, parts + 1)].count(True) == 1


def test_parts_are_about_equal() -> None:
    sizes = [sum(is_in_part(f"tests/test_of_{n}.py::test_this", part, 3) for n in range(3000)) for part in (1, 2, 3)]
    assert sum(sizes) == 3000
    assert min(sizes) > 800


@given(parts=st.integers(1, 99), data=st.data())
def test_a_part_is_read_as_it_is_written(parts: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(1, parts))
    assert read_part(f"{part}/{parts}") == (part, parts)


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "-1/3", "1/0", "a/b", "1/3/5"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="state a number"):
        read_part(text)
