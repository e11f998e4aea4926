"""`aiayn status`."""

from pathlib import Path

from omegaconf import DictConfig

from aiayn.config.command_schema import StatusConfig
from aiayn.config.freeze import to_dataclass
from aiayn.system.signals import SignalledInterrupt


def checked(composed: DictConfig) -> StatusConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return to_dataclass(composed, StatusConfig)


def main(composed: DictConfig) -> None:
    """List the runs, once or until Ctrl-C."""
    config = checked(composed)
    runs = Path(config.paths.runs)
    if not config.watch:
        from aiayn.reports.status import print_status

        print_status(runs, config.view)
        return
    from aiayn.reports.status_watch import watch_status

    try:
        watch_status(runs, config.view, interval=config.interval)
    except SignalledInterrupt:
        raise
    except KeyboardInterrupt:
        pass  # which is how it is ended
