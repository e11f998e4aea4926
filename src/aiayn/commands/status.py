"""`aiayn status`."""

from pathlib import Path

from aiayn.config.command_schema import StatusConfig
from aiayn.system.signals import ended_by_ctrl_c


def main(config: StatusConfig) -> None:
    """List the runs, once or until Ctrl-C."""
    from aiayn.reports.status import print_status, watch_status

    runs = Path(config.paths.runs)
    if not config.watch:
        print_status(runs, config.view)
        return
    with ended_by_ctrl_c():
        watch_status(runs, config.view, interval=config.interval)
