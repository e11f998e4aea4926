"""The format of standard output: text, or one JSON document."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum


class Format(StrEnum):
    """The format of a command's result."""

    text = "text"
    """Tables."""
    json = "json"
    """One document, for programs; docs/json.md describes the documents."""


_format: ContextVar[Format] = ContextVar("output_format", default=Format.text)


def output_format() -> Format:
    """The format that the command line chose."""
    return _format.get()


@contextmanager
def printed_as(chosen: Format) -> Iterator[None]:
    """Print results within the block in a format."""
    token = _format.set(chosen)
    try:
        yield
    finally:
        _format.reset(token)
