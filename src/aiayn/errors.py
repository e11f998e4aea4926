"""Errors that commands report in one line instead of a traceback."""

USER_ERROR = 2
"""Exit code of a command or a worker that refuses its words or its configuration."""


_ESCAPES = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
"""Line breaks and other control characters, as Python writes them."""


class _OneLineError(Exception):
    def __init__(self, message: str) -> None:
        """Control characters of values and files in the message are replaced by their escapes."""
        super().__init__(message.translate(_ESCAPES))

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
    """An exception in one line: the name of its class and its text."""
    name = type(error).__name__ + (f"({error.code})" if isinstance(error, SystemExit) else "")
    text = "" if isinstance(error, SystemExit) else " ".join(str(error).split())
    return f"{name}: {text}" if text else name
