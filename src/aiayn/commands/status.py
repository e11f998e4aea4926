"""`aiayn status`."""

from pathlib import Path

from aiayn.config.command_schema import StatusConfig
from aiayn.system.signals import ended_by_ctrl_c


def main(config: StatusConfig) -> None:
    """List the runs, once or until Ctrl-C."""
    runs = Path(config.paths.runs)
    if not config.watch:
        from aiayn.reports.status import print_status

        print_status(runs, config.view)
        return
    from aiayn.reports.status_watch import watch_status

    with ended_by_ctrl_c():
        watch_status(runs, config.view, interval=config.interval)
