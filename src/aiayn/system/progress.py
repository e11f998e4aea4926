"""Progress on standard error: bars, and lines that do not break them.

Below all lines, a terminal has one place that is redrawn: a bar, or the lines of a sweep, with the cursor at its
beginning. A new line clears it in the same write, so that several processes can share the terminal. Elsewhere there
are lines only, without control codes.
"""

import logging
import os
import sys
import textwrap
import time
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Self, final

from aiayn.errors import shown as shown_text

if TYPE_CHECKING:
    from rich.progress import Progress, Task

DELAY_SECONDS = 1.5
"""Work that ends sooner has no bar."""

INTERVAL_SECONDS = 0.1
"""A bar is redrawn no sooner."""

SHORTEST_BAR = 10
"""Columns of a bar; in a narrow terminal the text beside it loses its last words instead."""

CLEAR = "\r\033[J"
"""Moves to the beginning of the line and clears to the end of the screen."""

VARIABLE = "AIAYN_PROGRESS"
"""The environment variable with a process's `Shown`."""


class Shown(StrEnum):
    """The progress that a process shows."""

    all = "all"
    """Bars; without a terminal, a line now and then."""
    lines = "lines"
    """No bars and no remarks: the command of a sweep shows a line for each job."""
    nothing = "nothing"
    """No bars."""


def shown() -> Shown:
    """The setting of this process."""
    return next((each for each in Shown if each == os.environ.get(VARIABLE)), Shown.all)


def is_terminal() -> bool:
    """Whether standard error is a terminal that can be redrawn."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def has_bars() -> bool:
    """Whether this process draws bars."""
    return shown() is Shown.all and is_terminal()


def has_printed() -> bool:
    """Whether this process has written to the terminal."""
    return _has_printed


def mark_printed() -> None:
    """Note that this process writes to the terminal; whatever draws there calls it."""
    global _has_printed  # noqa: PLW0603
    _has_printed = True


def say(line: str) -> None:
    """Write a line to standard error, on a terminal above the bar or lines."""
    mark_printed()
    if sys.stderr is None:
        return
    line = shown_text(line)
    if is_terminal():  # which would break a line inside a word
        line = CLEAR + "\n".join(textwrap.wrap(line, _columns(), break_long_words=False, break_on_hyphens=False))
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
    for bar in _open[-1:]:
        bar.draw()


def _columns() -> int:
    """Columns of the terminal."""
    return os.get_terminal_size(sys.stderr.fileno()).columns or 80


def draw_lines(lines: Sequence[str]) -> None:
    """Draw lines over those drawn before, cut to the terminal, and move the cursor to their beginning."""
    size = os.get_terminal_size(sys.stderr.fileno())
    shown_lines = [line[: (size.columns or 80) - 1] for line in lines]
    if len(lines) >= size.lines > 1:
        hidden = len(lines) - (size.lines - 2)
        shown_lines[size.lines - 2 :] = [f"and {hidden} more"]
    mark_printed()
    back = f"\r\033[{len(shown_lines) - 1}A" if len(shown_lines) > 1 else "\r"
    sys.stderr.write(CLEAR + "\n".join(shown_lines) + back)
    sys.stderr.flush()


@final
class Bar:
    """A progress bar on the terminal, shown once the work has taken `DELAY_SECONDS`; nothing if bars are off.

    It hides a bar that is open already until it is closed.

    Args:
        description: the work, in a word or two.
        total: the amount of work; None if unknown.
        done: the part of it done already.
        unit: of the amount, with a space before it.
        stays: whether the closed bar stays on the terminal.
    """

    _progress: "Progress | None" = None

    def __init__(
        self, description: str, *, total: int | None = None, done: int = 0, unit: str = "", stays: bool = False
    ) -> None:
        if not has_bars():
            return
        mark_printed()
        from rich.progress import Progress

        self._progress = Progress(auto_refresh=False)  # holds amounts and times, and draws nothing by itself
        self._progress.add_task(description, total=total, completed=done)
        self._unit = unit
        self._stays = stays
        self._texts: Sequence[str] = ()
        self._is_drawn = False
        self._due = time.monotonic() + DELAY_SECONDS
        _open.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def advance(self, count: float = 1) -> None:
        """Add to the amount done."""
        if self._progress is not None:
            self.reach(self._progress.tasks[0].completed + count)

    def reach(self, done: float, texts: Sequence[str] = ()) -> None:
        """Set the amount done, and texts after the bar, the most important first."""
        if self._progress is None:
            return
        (task,) = self._progress.tasks
        # Ranks estimate the others' progress and may exceed the total.
        self._progress.update(task.id, completed=done if task.total is None else min(done, task.total))
        self._texts = texts
        if self is _open[-1] and time.monotonic() >= self._due:
            self._is_drawn = True
            self.draw()

    def draw(self) -> None:
        """Redraw the bar if it has been drawn."""
        if self._progress is not None and self._is_drawn:
            self._due = time.monotonic() + INTERVAL_SECONDS
            draw_lines([_line(self._progress.tasks[0], self._unit, self._texts)])

    def close(self) -> None:
        """End the bar, and redraw the one that it hid."""
        if self._progress is None:
            return
        if self._is_drawn:
            self.draw()
            sys.stderr.write("\n" if self._stays else CLEAR)
            sys.stderr.flush()
        self._progress = None
        _open.remove(self)
        for bar in _open[-1:]:
            bar.draw()


def _line(task: "Task", unit: str, texts: Sequence[str]) -> str:
    """One line of the terminal: amount, bar, time so far and time left, and the texts that have room."""
    from rich.console import Console
    from rich.progress import BarColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = _columns() - 1
    elapsed = TimeElapsedColumn().render(task).plain
    if task.total is None:
        return " ".join([f"{task.description} {task.completed:.0f}{unit} {elapsed}", *texts])
    amount = f"{task.description} {task.completed:.0f}/{task.total:.0f}{unit} "
    times = f" {elapsed}<{TimeRemainingColumn(compact=True).render(task).plain}"
    room = columns - SHORTEST_BAR - len(amount) - len(times)
    text = next((each for each in reversed(list(accumulate(texts, "{} {}".format))) if len(each) < room), "")
    after = f"{times} {text}" if text else times
    console = Console(file=sys.stderr, width=max(SHORTEST_BAR, columns - len(amount) - len(after)), color_system=None)
    (bar,) = console.render_lines(BarColumn(bar_width=None).render(task))
    return amount + "".join(segment.text for segment in bar) + after


_has_printed = False

_open: list[Bar] = []
"""The open bars of this process; the last one hides the others."""


@final
class LineHandler(logging.StreamHandler["_Lines"]):
    """Logs to standard error by `say`; without remarks in a job of a sweep that shows lines."""

    def __init__(self) -> None:
        super().__init__(_Lines())
        self.addFilter(lambda record: record.levelno >= logging.WARNING or shown() is not Shown.lines)


class _Lines:
    """The stream of a logging handler."""

    def write(self, text: str) -> None:
        say(text.removesuffix("\n"))

    def flush(self) -> None:
        """Every write is flushed already."""
