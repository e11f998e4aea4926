"""The ledger on the terminal, drawn anew whenever it has changed."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from aiayn.config.command_schema import View
from aiayn.errors import UserError
from aiayn.reports.formats import console
from aiayn.reports.status import status_parts
from aiayn.runs.ledger import read_ledger

if TYPE_CHECKING:
    from rich.segment import Segment

MARGIN = 1
"""Lines of the terminal that are left free."""


def watch_status(runs: Path, view: View, *, interval: float) -> None:
    """Show how the runs below a folder stand, for ever.

    Args:
        runs: the folder.
        view: as for `aiayn.reports.status.print_status`.
        interval: seconds between two looks.

    Raises:
        UserError: there is no such folder, standard output is no terminal, or the interval is not positive.
        KeyboardInterrupt: the user has seen enough.
    """
    if interval <= 0:
        raise UserError(f"interval={interval:g}: must be more than 0 seconds")
    output = console()
    if not output.is_terminal:
        raise UserError("watch=true: standard output is no terminal; leave it out, and what stands now is printed once")
    drawn: list[list[Segment]] = []
    with Live(console=output, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        while True:
            status = _fitting(output, runs, view)
            lines = output.render_lines(status)
            if lines != drawn:
                live.update(status, refresh=True)
                drawn = lines
            time.sleep(interval)


def _fitting(output: Console, runs: Path, view: View) -> Group:
    """The whole ledger, or one without a line for each finished run where the terminal is not high enough."""
    entries = read_ledger(runs)
    whole, short = (
        Group(
            *(
                Text(part) if isinstance(part, str) else part
                for part in status_parts(entries, runs, view, with_finished=with_finished)
            )
        )
        for with_finished in (True, False)
    )
    return whole if len(output.render_lines(whole)) <= output.height - MARGIN else short
