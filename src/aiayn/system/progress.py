"""What standard error shows of work that takes a while: bars, and lines that do not tear them.

A terminal has one place that is drawn over, below all that was said: a bar, or the lines of a sweep. The cursor rests
in its first line. Whoever says something clears from there on, in the same write, so that the processes of one command
can share the terminal. Where standard error is no terminal there are lines alone, without control codes.
"""

import logging
import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self, final

if TYPE_CHECKING:
    from tqdm import tqdm

DELAY_SECONDS = 1.5
"""What is done sooner has no bar."""

FORMAT = "{desc} {n_fmt}/{total_fmt}{unit} {bar} {elapsed}<{remaining}{postfix}"
"""Of a bar whose end is known; tqdm's own where it is not."""

CLEAR = "\r\033[J"
"""To the beginning of the line, and nothing from there to the end of the screen."""

VARIABLE = "AIAYN_PROGRESS"
"""The environment variable by which a process learns its `Shown`."""


class Shown(StrEnum):
    """How much a process shows of its progress."""

    all = "all"
    """Bars; where standard error is no terminal, a line now and then."""
    lines = "lines"
    """No bars and no remarks: the command of a sweep shows a line for each job where they would be."""
    nothing = "nothing"
    """No bars: somebody else tells, or there are several alike."""


def shown() -> Shown:
    """What this process shows."""
    return next((each for each in Shown if each == os.environ.get(VARIABLE)), Shown.all)


def is_terminal() -> bool:
    """Whether standard error can be drawn over."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def has_bars() -> bool:
    """Whether this process draws bars."""
    return shown() is Shown.all and is_terminal()


def say(line: str) -> None:
    """Write a line to standard error, on a terminal above whatever is drawn there."""
    if sys.stderr is None:
        return
    sys.stderr.write(f"{CLEAR if is_terminal() else ''}{line}\n")
    sys.stderr.flush()
    for bar in _open[-1:]:
        bar.draw()


def draw_lines(lines: Sequence[str]) -> None:
    """Draw lines over those that were drawn before, cut to the terminal; the cursor then rests where they begin."""
    size = os.get_terminal_size(sys.stderr.fileno())
    shown_lines = [line[: (size.columns or 80) - 1] for line in lines]
    if len(lines) >= size.lines > 1:
        hidden = len(lines) - (size.lines - 2)
        shown_lines[size.lines - 2 :] = [f"and {hidden} more"]
    back = f"\r\033[{len(shown_lines) - 1}A" if len(shown_lines) > 1 else "\r"
    sys.stderr.write(CLEAR + "\n".join(shown_lines) + back)
    sys.stderr.flush()


@final
class Bar:
    """A line on the terminal that is drawn over as work goes on, once it has taken `DELAY_SECONDS`.

    One that is opened while another is open takes its place until it is closed. Silent where there are no bars.

    Args:
        description: what is done, in a word or two.
        total: how much there is of it; None where nobody knows.
        done: of that, already.
        unit: what is counted, with a space before it.
        stays: whether it is left standing when it is closed.
    """

    def __init__(
        self, description: str, *, total: int | None = None, done: int = 0, unit: str = "", stays: bool = False
    ) -> None:
        self._bar: tqdm[Any] | None = None
        if not has_bars():
            return
        from tqdm import tqdm as drawn  # imported only where it is

        self._bar = drawn(
            desc=description,
            total=total,
            initial=done,
            unit=unit,
            bar_format=None if total is None else FORMAT,
            file=sys.stderr,
            dynamic_ncols=True,
            miniters=0,
            delay=DELAY_SECONDS,
            position=0,
            leave=stays,
        )
        _open.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def advance(self, count: float = 1) -> None:
        """So much more is done; drawn ten times a second at most."""
        if self._bar is not None:
            left = count if self._bar.total is None else self._bar.total - self._bar.n
            self._bar.update(min(count, left))  # ranks count for each other, and may count too much

    def reach(self, done: float, text: str = "") -> None:
        """So much is done in all, and there is something to say of it."""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(done - self._bar.n)

    def draw(self) -> None:
        """Draw it again as it stands, if it has been drawn."""
        if self._bar is not None and self._bar.last_print_t - self._bar.start_t >= DELAY_SECONDS:
            self._bar.refresh()

    def close(self) -> None:
        """Take it away, or leave it standing; what it hid is drawn again."""
        if self._bar is None:
            return
        self._bar.close()
        self._bar = None
        _open.remove(self)
        for bar in _open[-1:]:
            bar.draw()


_open: list[Bar] = []
"""The bars of this process that are drawn; the last one hides the others."""


@final
class LineHandler(logging.StreamHandler["_Lines"]):
    """Logs to standard error, as `say` does; without remarks where lines of a sweep stand for them."""

    def __init__(self) -> None:
        super().__init__(_Lines())
        self.addFilter(lambda record: record.levelno >= logging.WARNING or shown() is not Shown.lines)


class _Lines:
    """What a logging handler takes for a stream."""

    def write(self, text: str) -> None:
        say(text.removesuffix("\n"))

    def flush(self) -> None:
        """Everything was said already."""
