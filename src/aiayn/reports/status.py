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
    output = console()
    if not entries:
        output.print(f"no runs below {runs}")
        return
    table = Table(pad_edge=False)
    for heading in ("run", "state", "steps", "PPL (dev)", "BLEU (dev)", "trained", "left"):
        table.add_column(heading, justify="left" if heading in ("run", "state") else "right")
    for entry in entries:
        table.add_row(str(entry.directory.path.relative_to(runs)), *_cells(entry))
    output.print(table)
    counts = {state: sum(entry.state is state for entry in entries) for state in State}
    output.print(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    for entry in entries:
        if entry.message and entry.state is not State.finished:
            output.print(f"{entry.directory.path.relative_to(runs)}: {entry.message}", soft_wrap=True)


def console() -> Console:
    """Where tables of runs go: as wide as the terminal, and wider into a file."""
    output = Console(highlight=False, markup=False)
    return output if output.is_terminal else Console(highlight=False, markup=False, width=WIDTH_OF_A_FILE)


def steps_of(entry: Entry) -> str:
    """The optimizer steps done, and of how many where some are missing."""
    if entry.record is None:
        return ""
    is_whole = entry.record.max_steps in (None, entry.step)
    return f"{entry.step:,}" if is_whole else f"{entry.step:,} of {entry.record.max_steps:,}"


def scores_of(entry: Entry) -> dict[str, str]:
    """Perplexity and BLEU on the development set under their names; empty before the evaluation."""
    dev = None if entry.record is None else entry.record.scores.get("dev")
    return {} if dev is None else {"PPL": f"{dev.ppl:.2f}", dev.bleu_name: f"{dev.bleu.score:.1f}"}


def _cells(entry: Entry) -> tuple[str, ...]:
    if entry.record is None:
        return (entry.state, "", "", "", "", "")
    left = entry.seconds_left
    scores = tuple(scores_of(entry).values()) or ("", "")
    return (entry.state, steps_of(entry), *scores, duration(entry.seconds), "" if left is None else duration(left))
