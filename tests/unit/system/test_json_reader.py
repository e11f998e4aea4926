"""JSON is read as what wrote it; anything else is refused in one line that names the file and the place."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.system.documents import DEEPEST, NullIsInfinity, parse_as, parse_json, read_as, read_json

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=9,
)


class Colour(StrEnum):
    red = "red"


@dataclass(frozen=True)
class Inner:
    share: float


@dataclass(frozen=True)
class Whole:
    count: int
    colour: Colour
    path: Path
    by_seed: Mapping[int, str]
    pair: tuple[int, ...]
    limit: Annotated[float, NullIsInfinity]
    inner: Inner | None = None
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("count must not be negative")


WHOLE = Whole(3, Colour.red, Path("a"), {1: "one"}, (1, 2), 4.0, Inner(0.5), ["x"])


def text_of(whole: Whole, **changes: Any) -> str:
    return json.dumps(asdict(whole) | changes, default=str)


def refusal(text: str) -> str:
    with pytest.raises(UserError, match=r"^place: [^\n]*; restore the file$") as error:
        parse_as(Whole, text, "place")
    return str(error.value).removeprefix("place: ").removesuffix("; restore the file")


@given(plain)
def test_plain_values_read_back_as_they_were_written(value: Any) -> None:
    assert parse_json(json.dumps(value), "place") == value


def test_a_dataclass_reads_back_as_it_was_written(tmp_path: Path) -> None:
    (path := tmp_path / "whole.json").write_text(text_of(WHOLE))
    assert read_as(Whole, path) == WHOLE
    assert parse_as(dict[str, Whole], f'{{"a": {text_of(WHOLE)}}}', "place") == {"a": WHOLE}
    assert parse_as(Whole, text_of(WHOLE, limit=None), "place").limit == math.inf


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"count": "3"}, 'count="3": should be a valid integer'),
        ({"count": 3.0}, "count=3.0: should be a valid integer"),
        ({"count": True}, "count=true: should be a valid integer"),
        ({"count": -1}, "count must not be negative"),
        ({"colour": "blue"}, "colour=\"blue\": should be 'red'"),
        ({"inner": {"share": []}}, "inner.share=[]: should be a valid number"),
        ({"inner": {"share": 1, "other": 2}}, "inner.other is no key of this version"),
        ({"inner": {}}, "inner.share is missing"),
        ({"pair": [1, None]}, "pair.1=null: should be a valid integer"),
        ({"names": 300 * "n"}, "names="),
        ({"by_seed": {"x": "one"}}, "by_seed.x"),
    ],
)
def test_another_type_is_named_with_its_key_and_value(changes: dict[str, Any], said: str) -> None:
    assert refusal(text_of(WHOLE, **changes)).startswith(said)
    assert len(refusal(text_of(WHOLE, **changes))) < 200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON (nothing is in it)"),
        ('{"count": ', "not JSON (Expecting value at line 1, column 11)"),
        (60_000 * "[" + 60_000 * "]", "not JSON (nested too deep)"),
        ((DEEPEST + 1) * "[" + (DEEPEST + 1) * "]", "not JSON (nested too deep)"),
        (60_000 * '{"a":' + "1" + 60_000 * "}", "not JSON (nested too deep)"),
        ('{"count": NaN}', "not JSON (NaN is no finite number)"),
        ('{"count": -1e999}', "not JSON (-1e999 is too large for a number)"),
        ('{"count": 9223372036854775808}', "not JSON (9223372036854775808 has more than 64 bits)"),
        ('{"count": ' + 5000 * "9" + "}", f"not JSON ({60 * '9'} has more than 64 bits)"),
        ('{"count": 1, "count": 1}', 'not JSON (the key "count" is stated twice)'),
        ('{"count": "\\uD800"}', "not JSON (half of a surrogate pair is no text)"),
    ],
)
def test_texts_that_are_no_json_are_refused(text: str, said: str) -> None:
    assert refusal(text) == said


def test_nesting_to_the_limit_is_read() -> None:
    assert parse_json(DEEPEST * "[" + "1" + DEEPEST * "]", "place")


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b'{"a": "\xff"}')
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("bytes", "folder", "pipe", "loop"):
        with pytest.raises(UserError, match=rf"^{tmp_path / name}: [^\n]+$"):
            read_json(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "absent")
