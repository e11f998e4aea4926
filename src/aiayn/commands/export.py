"""`aiayn export`."""

from omegaconf import DictConfig

from aiayn.config.command_schema import ExportConfig
from aiayn.config.freeze import typed
from aiayn.runs.directory import open_run


def main(composed: DictConfig) -> None:
    """Write a run's model for another program, and print where it lies."""
    config = typed(composed, ExportConfig)
    open_run(config.run)  # before torch is imported, which takes seconds
    from aiayn.launch.export import export_run

    print(export_run(config))  # noqa: T201
