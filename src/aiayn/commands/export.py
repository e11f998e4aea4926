"""`aiayn export`."""

from omegaconf import DictConfig

from aiayn.config.command_schema import ExportConfig
from aiayn.config.freeze import to_dataclass
from aiayn.runs.directory import open_run


def checked(composed: DictConfig) -> ExportConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return to_dataclass(composed, ExportConfig)


def main(composed: DictConfig) -> None:
    """Write a run's model for another program, and print where it lies."""
    config = checked(composed)
    open_run(config.run)  # before torch is imported, which takes seconds
    from aiayn.inference.export import export_run

    print(export_run(config))  # noqa: T201
