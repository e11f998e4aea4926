"""JSON documents, which anybody may have changed: read as plain values, or as the dataclasses that write them.

A defect of any kind is a UserError of one line that names the file and the place in it. Numbers that JSON does not have
(NaN, Infinity) or that Python cannot use everywhere, keys that are stated twice, and deep nesting are defects.
"""

import json
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from aiayn.errors import UserError
from aiayn.system import files

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
    from pydantic_core import CoreSchema

Document = TypeVar("Document")

RESTORE = "restore the file"

DEEPEST = 100
"""Levels of objects and lists; functions that walk through a document call themselves at each."""

MOST_BITS = 63
"""Of a whole number and its sign: larger ones overflow in numpy, in file names and in arithmetic with floats."""

SHOWN = 60
"""Letters of a wrong value in messages."""


class NullIsInfinity:
    """Marks a float, as in `Annotated[float, NullIsInfinity]`, whose infinity is written as null."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """As pydantic asks for it."""
        from pydantic_core import core_schema

        schema = core_schema.nullable_schema(handler(float))
        return core_schema.no_info_after_validator_function(lambda read: math.inf if read is None else read, schema)


def read_json(path: Path, *, remedy: str = RESTORE) -> Any:
    """The plain value of a file; UserError if it cannot be read, FileNotFoundError if there is none."""
    return parse_json(files.read_text(path), str(path), remedy=remedy)


def read_as(kind: type[Document], path: Path, *, remedy: str = RESTORE) -> Document:
    """The dataclass, or container of dataclasses, that a file was written from; errors as for `read_json`."""
    return parse_as(kind, files.read_text(path), str(path), remedy=remedy)


def parse_json(text: str, place: str, *, remedy: str = RESTORE) -> Any:
    """The plain value of a text; UserError, which begins with the place, if it is not JSON."""
    try:
        content = _DECODER.decode(text)
        _check_depth(content, text)
        if "\\ud" in text.lower():  # half of a pair of surrogates: no text that could be printed or written
            json.dumps(content, ensure_ascii=False).encode()
    except RecursionError:
        reason = "nested too deep"
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at line {error.lineno}, column {error.colno}" if text.strip() else "nothing is in it"
    except UnicodeEncodeError:
        reason = "half of a surrogate pair is no text"
    except ValueError as error:
        reason = str(error)
    else:
        return content
    raise UserError(f"{place}: not JSON ({reason}); {remedy}") from None


def parse_as(kind: type[Document], text: str, place: str, *, remedy: str = RESTORE) -> Document:
    """A text as the dataclass, or container of dataclasses, that it was written from.

    Every field has the type of its annotation, without conversions but those of JSON: whole numbers for floats, lists
    for tuples, texts for members of an enumeration and for paths. Unknown keys are refused, and so are missing ones
    without a default. A `ValueError` of `__post_init__` is a defect, too.

    Raises:
        UserError: it is not JSON, or a value is not of its type: the line begins with the place and names the key.
    """
    from pydantic import ValidationError

    parse_json(text, place, remedy=remedy)
    try:
        adapter: TypeAdapter[Document] = _adapter(kind)  # type: ignore[arg-type]  # classes are hashable
        document = adapter.validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        raise UserError(f"{place}: {_defect(error)}; {remedy}") from None
    return document


@cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # a tenth of a second, which `aiayn --help` has no use for

    return TypeAdapter(kind)


def _defect(error: "ValidationError") -> str:
    """The first defect, as in `scores.dev.sentences={}: should be a valid integer`."""
    first = error.errors(include_url=False)[0]
    key, text = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Input ").removeprefix("Value error, ")
    if first["type"] == "missing":
        return f"{key} is missing"
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{key} is no key of this version"
    value = json.dumps(first["input"], default=str)
    shown = value if len(value) <= SHOWN else f"{value[:SHOWN]}..."
    return f"{key}={shown}: {text}" if key else f"{text}: {shown}"


def _check_depth(content: Any, text: str) -> None:
    """Refuse deep nesting; RecursionError."""
    if text.count("{") + text.count("[") <= DEEPEST:
        return
    level = [content]
    for _ in range(DEEPEST):
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [entry for entries in inside for entry in entries if isinstance(entry, dict | list)]
        if not level:
            return
    raise RecursionError


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {json.dumps(next(key for key in keys if keys.count(key) > 1))} is stated twice")
    return content


def _whole_number(digits: str) -> int:
    number = int(digits) if len(digits) <= MOST_BITS else None
    if number is None or number.bit_length() > MOST_BITS:
        raise ValueError(f"{digits[:SHOWN]} has more than 64 bits")
    return number


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:SHOWN]} is too large for a number")
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no finite number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_number, parse_int=_whole_number, parse_constant=_refuse
)
