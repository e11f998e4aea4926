"""`aiayn status`."""

from pathlib import Path

from omegaconf import DictConfig

from aiayn.config.command_schema import StatusConfig
from aiayn.config.freeze import typed
from aiayn.reports.status import print_status


def main(composed: DictConfig) -> None:
    """List the runs."""
    config = typed(composed, StatusConfig)
    print_status(Path(config.paths.runs), config.view)
