"""The ledger on the terminal."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from aiayn.reports.row import duration
from aiayn.runs.ledger import Entry, State, read_ledger

WIDTH_OF_A_FILE = 200
"""Columns where standard output is no terminal: nothing is cut there."""


def print_status(runs: Path) -> None:
    """Print a line for each run below a folder, and below the table what went wrong where.

    Raises:
        UserError: there is no such folder.
    """
    entries = read_ledger(runs)
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=WIDTH_OF_A_FILE)
    if not entries:
        console.print(f"no runs below {runs}")
        return
    table = Table(pad_edge=False)
    for heading in ("run", "state", "steps", "PPL (dev)", "BLEU (dev)", "trained", "left"):
        table.add_column(heading, justify="left" if heading in ("run", "state") else "right")
    for entry in entries:
        table.add_row(str(entry.directory.path.relative_to(runs)), *_cells(entry))
    console.print(table)
    counts = {state: sum(entry.state is state for entry in entries) for state in State}
    console.print(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    for entry in entries:
        if entry.message and entry.state is not State.finished:
            console.print(f"{entry.directory.path.relative_to(runs)}: {entry.message}", soft_wrap=True)


def _cells(entry: Entry) -> tuple[str, ...]:
    record = entry.record
    if record is None:
        return (entry.state, "", "", "", "", "")
    is_whole = record.max_steps in (None, entry.step)
    steps = f"{entry.step:,}" if is_whole else f"{entry.step:,} of {record.max_steps:,}"
    dev = record.scores.get("dev")
    scores = ("", "") if dev is None else (f"{dev.ppl:.2f}", f"{dev.bleu.score:.1f}")
    left = entry.seconds_left
    return (entry.state, steps, *scores, duration(entry.seconds), "" if left is None else duration(left))
