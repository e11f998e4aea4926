import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.models.keys_values import KeysValues, Past


def drawn(length: int) -> KeysValues:
    return KeysValues(torch.randn(2, 3, length, 4), torch.randn(2, 3, length, 5))


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4)), min_size=1, max_size=15))
@settings(max_examples=50)
def test_every_past_stays_what_it_was(appends: list[tuple[int, int]]) -> None:
    """Whatever tree of pasts grows from one root, each holds its own branch, in order."""
    pasts = [Past.like(drawn(7))]
    expected = [drawn(0)]
    for choice, length in appends:
        parent, new = choice % len(pasts), drawn(length)
        pasts.append(pasts[parent].append(new))
        expected.append(KeysValues(*(torch.cat(pair, dim=2) for pair in zip(expected[parent], new, strict=True))))
    for past, content in zip(pasts, expected, strict=True):
        assert torch.equal(past.filled.keys, content.keys)
        assert torch.equal(past.filled.values, content.values)


def test_appending_seldom_moves() -> None:
    past, places = Past.like(drawn(7)), set()
    for _ in range(100):
        past = past.append(drawn(1))
        places.add(past.filled.keys.data_ptr())
    assert len(places) <= 8  # room doubles: about log2 of 100


def test_keep_selects_rows_in_order() -> None:
    content = drawn(3)
    rows = torch.tensor([1, 0, 1])
    kept = Past.like(content).append(content).keep(rows)
    assert torch.equal(kept.filled.keys, content.keys[rows])
    assert torch.equal(kept.filled.values, content.values[rows])
    assert torch.equal(content.keep(rows).values, content.values[rows])
