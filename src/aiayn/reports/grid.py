"""A table of text, whatever the format."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Column(Generic[T]):
    """A column of a table with a line for each `T`."""

    heading: str
    """As in `Grid.headings`."""
    cell: Callable[[T], str]
    """The text of its cell in a line."""


@dataclass(frozen=True)
class Grid:
    """A table of text."""

    title: str
    headings: tuple[str, ...]
    """A column whose heading begins with < is aligned left."""
    groups: tuple[tuple[tuple[str, ...], ...], ...]
    """Lines, in groups separated by a rule."""

    @classmethod
    def of(cls, title: str, columns: Iterable[Column[T]], *groups: Iterable[T]) -> Self:
        """The table of groups of lines."""
        columns = list(columns)
        lines = (tuple(tuple(column.cell(line) for column in columns) for line in group) for group in groups)
        return cls(title, tuple(column.heading for column in columns), tuple(lines))

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """The headings, and whether the column is aligned left."""
        return [(heading.removeprefix("<"), heading.startswith("<")) for heading in self.headings]
