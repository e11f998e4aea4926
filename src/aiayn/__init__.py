"""Every table of "Attention Is All You Need" is a command, and a function of this package: see docs/python.md."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiayn.api.configurations import compose
    from aiayn.api.records import list_runs
    from aiayn.api.reports import Report, document_schema, report
    from aiayn.api.run import Run, load
    from aiayn.api.training import train, train_sweep
    from aiayn.errors import RunFailedError, UserError

__version__ = "0.1.0"

__all__ = [
    "Report",
    "Run",
    "RunFailedError",
    "UserError",
    "compose",
    "document_schema",
    "list_runs",
    "load",
    "report",
    "train",
    "train_sweep",
]

_HOMES = {
    "Report": "aiayn.api.reports",
    "Run": "aiayn.api.run",
    "RunFailedError": "aiayn.errors",
    "UserError": "aiayn.errors",
    "compose": "aiayn.api.configurations",
    "document_schema": "aiayn.api.reports",
    "list_runs": "aiayn.api.records",
    "load": "aiayn.api.run",
    "report": "aiayn.api.reports",
    "train": "aiayn.api.training",
    "train_sweep": "aiayn.api.training",
}
"""The module of each name, which is imported when the name is used first: `import aiayn` takes milliseconds."""


def __getattr__(name: str) -> Any:
    """Import a function of the Python API, which may be an extension's."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if not name.startswith("_"):  # imports ask for names of their own
        from aiayn.registry import added_functions, named

        if name in added_functions():
            return named(added_functions()[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    from aiayn.registry import added_functions

    return [*__all__, *added_functions(), "__version__"]
