"""A table of text, whatever the format."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A table of text."""

    title: str
    headings: tuple[str, ...]
    """A column whose heading begins with < is aligned left."""
    groups: tuple[tuple[tuple[str, ...], ...], ...]
    """Lines, in groups separated by a rule."""

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """The headings, and whether the column is aligned left."""
        return [(heading.removeprefix("<"), heading.startswith("<")) for heading in self.headings]
