"""`aiayn import`."""

from aiayn.config.outputs import new_output
from aiayn.extensions.foreign.schema import ImportConfig


def check(config: ImportConfig) -> None:
    """Refuse an output that exists, before torch is imported, which takes seconds."""
    new_output(config.output)


def main(config: ImportConfig) -> None:
    """Make a run directory from a checkpoint of another library, and print its path."""
    from aiayn.extensions.foreign.importing import import_model

    print(import_model(config))  # noqa: T201
