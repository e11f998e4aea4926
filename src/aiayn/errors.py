"""The errors that a command reports in one line instead of a traceback."""


class UserError(ValueError):
    """A mistake that the user can mend: one line naming key, value, file and what to do. Exit code 2."""


class RunFailedError(RuntimeError):
    """A run that started and could not finish: one line saying why. Exit code 1."""
