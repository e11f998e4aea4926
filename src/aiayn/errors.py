"""Errors that commands report in one line instead of a traceback."""

import re

USER_ERROR = 2
"""Exit code of a command or a worker that refuses its words or its configuration."""


LONGEST = 500
"""Characters of an exception of other code in one line."""

_ESCAPES = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
"""Line breaks and other control characters, as Python writes them."""


def printable(text: str) -> str:
    """A text in one line that any stream takes: control characters and lone surrogates become escapes."""
    return text.translate(_ESCAPES).encode(errors="backslashreplace").decode()


def shown(text: str) -> str:
    """A text for a terminal, which files of others may have written: as `printable`, but tabs and line feeds stay."""
    return re.sub("[^\n\t -~]+", lambda found: printable(found[0]), text)


class _OneLineError(Exception):
    def __init__(self, message: str) -> None:
        """Values and files in the message are replaced as `printable` does."""
        super().__init__(printable(message))

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython and Jupyter show instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class UserError(_OneLineError, ValueError):
    """A mistake that the user can correct: one line with key, value, file and remedy. Exit code 2."""


class RunFailedError(_OneLineError, RuntimeError):
    """A run that started and could not finish: one line with the reason. Exit code 1."""


class KilledRunError(RunFailedError):
    """A run with a process that was killed, for example for lack of memory; another attempt may succeed."""


def error_line(error: BaseException) -> str:
    """An exception in one line of at most `LONGEST` characters: the name of its class, and its text if it has one.

    The exception may be of any code, whose `__str__` may raise anything itself.
    """
    name = type(error).__name__
    try:
        if isinstance(error, SystemExit):
            line = f"{name}({error.code})"
        else:
            text = " ".join(str(error).split())
            line = f"{name}: {text}" if text else name
    except KeyboardInterrupt:
        raise
    except BaseException:
        line = name
    line = printable(line)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
