"""A table in the width of a terminal: no figure is cut, and no line breaks inside a word.

Columns of text are wrapped between words. If that is not enough, the columns are spread over several tables, each of
which begins with the names of the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.text import Text

from aiayn.reports.grid import Grid

GAPS = (2, 1)
"""Columns of the terminal between two columns of a table: the narrower gap where it saves a table."""

LEAST_TEXT = 24
"""A column of text is not wrapped to less than this, if it is wider."""

SHARE_OF_NAMES = 0.6
"""The largest share of the width that the names of rows get; longer names are broken."""


MOST_NAMES = 3
"""Columns that name a row."""


@dataclass(frozen=True)
class Fitted:
    """A table and the widths of its columns."""

    grid: Grid
    widths: tuple[int, ...]
    gap: int
    """Columns of the terminal between two of its columns."""


def fitted(grid: Grid, width: int) -> list[Fitted]:
    """The tables that show a grid in a width."""
    return min((_fitted(grid, width, gap) for gap in GAPS), key=len)


def _fitted(grid: Grid, width: int, gap: int) -> list[Fitted]:
    every = range(len(grid.headings))
    natural = [_natural(grid, place) for place in every]
    least = [min(_least(grid, place, natural[place]), width) for place in every]
    filled = [place for place in every if not place or any(_cells(grid, place))]
    if _total(least, gap) > width and len(filled) < len(every):  # blank columns are the first to go
        return _fitted(_part(grid, filled, grid.title), width, gap)
    names = _names(grid, least, width, gap)
    least[0] = min(least[0], max(1, int(width * SHARE_OF_NAMES)))
    parts: list[list[int]] = [list(names)]
    for place in every[len(names) :]:
        if len(parts[-1]) > len(names) and _total([least[each] for each in (*parts[-1], place)], gap) > width:
            parts.append(list(names))
        parts[-1].append(place)
    found = []
    for number, part in enumerate(parts):
        title = f"{grid.title}, continued" if number and grid.title else grid.title
        narrow = _narrowed(grid, [least[each] for each in part], width, gap)
        widths = _widths(narrow, [natural[each] for each in part], width, gap)
        found.append(Fitted(_part(grid, part, title), widths, gap))
    return found


def _columns(text: str) -> int:
    """The columns of a terminal that a text takes."""
    return Text(text).cell_len


def _natural(grid: Grid, place: int) -> int:
    heading, _ = grid.columns[place]
    return max(_columns(each) for each in (heading, *_cells(grid, place)))


def _least(grid: Grid, place: int, natural: int) -> int:
    """The width at which no word is broken, nor any figure."""
    heading, is_left = grid.columns[place]
    headed = max(map(_columns, heading.split()), default=0)
    if not is_left:
        return max([headed, *map(_columns, _cells(grid, place))])
    return max(headed, min(natural, LEAST_TEXT), _longest_word(grid, place))


def _longest_word(grid: Grid, place: int) -> int:
    return max((_columns(word) for cell in _cells(grid, place) for word in cell.split(" ")), default=1)


def _names(grid: Grid, least: Sequence[int], width: int, gap: int) -> range:
    """The columns that name a row: the first one, or the first few that tell rows apart and leave room for others."""
    lines = [line for group in grid.groups for line in group]
    for count in range(1, min(MOST_NAMES, len(grid.headings) - 1) + 1):
        if len({line[:count] for line in lines}) == len(lines):
            return range(count) if _total(least[:count], gap) <= width * SHARE_OF_NAMES else range(1)
    return range(1)


def _narrowed(grid: Grid, least: Sequence[int], width: int, gap: int) -> list[int]:
    """The least widths; if one word is too wide to stand beside the names, these are wrapped at every word first."""
    narrow = list(least)
    for place, end in ((0, _longest_word(grid, 0)), (-1, 1)):
        excess = max(0, _total(narrow, gap) - width)
        narrow[place] = min(narrow[place], max(end, narrow[place] - excess))
    return narrow


def _widths(least: Sequence[int], natural: Sequence[int], width: int, gap: int) -> tuple[int, ...]:
    """The least widths, and the room that is left for those that want more: first for those that want least."""
    widths = list(least)
    room = width - _total(least, gap)
    wanting = sorted((place for place in range(len(widths))), key=lambda place: natural[place] - least[place])
    for count, place in enumerate(wanting):
        more = min(natural[place] - least[place], max(0, room) // (len(wanting) - count))
        widths[place] += max(0, more)
        room -= max(0, more)
    return tuple(max(1, each) for each in widths)


def _total(widths: Sequence[int], gap: int) -> int:
    """The width of a table: rich has a blank before the first column and after the last one."""
    return sum(widths) + gap * sum(1 for _ in pairwise(widths)) + 2


def _part(grid: Grid, places: Sequence[int], title: str) -> Grid:
    groups = tuple(tuple(tuple(line[place] for place in places) for line in group) for group in grid.groups)
    return Grid(title, tuple(grid.headings[place] for place in places), groups)


def _cells(grid: Grid, place: int) -> list[str]:
    return [line[place] for group in grid.groups for line in group]
