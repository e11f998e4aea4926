"""A terminal for a program under test: what the program writes, and what then stands on the screen."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

CONTROL = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Terminal:
    """Runs a program on a pseudo-terminal of its own; the program is killed when the block is left."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        columns: int = 80,
        lines: int = 40,
    ) -> None:
        self.written = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._columns = columns
        self._own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            words,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={**kept, "TERM": "xterm-256color", **(environment or {})},
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._own)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._own, keys.encode())

    def read_until(self, is_there: Callable[[], bool], *, seconds: float = 60.0) -> None:
        """Read what the program writes until something is so."""
        end = time.monotonic() + seconds
        while not is_there():
            assert time.monotonic() < end, f"not within {seconds} s:\n{self.written}"
            assert self._read(0.1), f"the program has ended:\n{self.written}"

    def read_for(self, seconds: float) -> None:
        """Read what the program writes in that time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self._read(left):
            pass

    def wait(self, *, seconds: float = 60.0) -> int:
        """Read to the end; returns the exit code."""
        end = time.monotonic() + seconds
        while self._read(0.1):
            assert time.monotonic() < end, f"not within {seconds} s:\n{self.written}"
        return self.process.wait(timeout=10)

    def interrupt(self) -> None:
        """Do what Ctrl-C does: tell the program and those that it started in its session."""
        os.killpg(self.process.pid, signal.SIGINT)

    def _read(self, seconds: float) -> bool:
        """Read what is there; False where all programs on the terminal have ended."""
        if not select.select([self._own], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self._own, 65_536)
        except OSError:  # Linux's way to say that nobody is left
            return False
        self.written += self._decoder.decode(more)
        return bool(more)

    @property
    def screen(self) -> list[str]:
        """The lines of the screen as they stand now, those scrolled away before them; without blank ones at the end."""
        return screen_after(self.written, columns=self._columns)


def screen_after(written: str, *, columns: int) -> list[str]:
    """What stands on an endless screen after some text was written on it.

    Only the control codes that this project's programs write are known; colours are left out.
    """
    rows: list[list[str]] = [[]]
    row = column = 0
    for arguments, code, control, text in CONTROL.findall(written):
        assert code in ("", *"AJKmhl"), f"{code}: a control code that this screen does not know"
        if control == "\r":
            column = 0
        elif control == "\n":
            row += 1
        elif code == "A":
            row = max(0, row - int(arguments or 1))
        elif code == "J":
            del rows[row + 1 :]
        if code in ("J", "K") and row < len(rows):
            del rows[row][0 if arguments == "2" else column :]
        for character in text:
            if column == columns:
                row, column = row + 1, 0
            rows += [[] for _ in range(row + 1 - len(rows))]
            rows[row] += " " * (column + 1 - len(rows[row]))
            rows[row][column] = character
            column += 1
    lines = ["".join(line).rstrip() for line in rows]
    while lines and not lines[-1]:
        lines.pop()
    return lines
