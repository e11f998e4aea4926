"""`aiayn export`."""

from aiayn.extensions.foreign.schema import ExportConfig
from aiayn.runs.directory import open_run


def main(config: ExportConfig) -> None:
    """Write a run's model for another program, and print the path."""
    open_run(config.run)  # before torch is imported, which takes seconds
    from aiayn.extensions.foreign.exporting import export_run

    print(export_run(config))  # noqa: T201
