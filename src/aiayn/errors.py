"""Errors that commands report in one line instead of a traceback."""


class UserError(ValueError):
    """A mistake that the user can correct: one line with key, value, file and remedy. Exit code 2."""


class RunFailedError(RuntimeError):
    """A run that started and could not finish: one line with the reason. Exit code 1."""
