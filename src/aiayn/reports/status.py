"""The ledger on the terminal."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from aiayn.config.command_schema import View
from aiayn.paper.table3 import load_table3
from aiayn.reports.row import duration
from aiayn.runs.ledger import Entry, State, read_ledger

WIDTH_OF_A_FILE = 200
"""Columns where standard output is no terminal: nothing is cut there."""


def print_status(runs: Path, view: View) -> None:
    """Print how the runs below a folder stand, and below the tables what went wrong where.

    Args:
        runs: the folder.
        view: a line for each run; or one for each row with a column for each seed, and a line for each run that has not
            finished; by default the latter where a row has several seeds.

    Raises:
        UserError: there is no such folder.
    """
    entries = read_ledger(runs)
    output = console()
    if not entries:
        output.print(f"no runs below {runs}")
        return
    listed = entries
    if view is View.rows or (view is View.auto and _has_seeds(entries)):
        for title, table in _seed_tables(entries):
            output.print(title, soft_wrap=True)
            output.print(table)
        listed = [entry for entry in entries if entry.state is not State.finished]
    if listed:
        output.print(_list(listed, runs))
    counts = {state: sum(entry.state is state for entry in entries) for state in State}
    output.print(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    for entry in entries:
        if entry.message and entry.state is not State.finished:
            output.print(f"{entry.directory.path.relative_to(runs)}: {entry.message}", soft_wrap=True)


def _list(entries: Sequence[Entry], runs: Path) -> Table:
    scores = ("PPL (dev)", "BLEU (dev)") if any(map(scores_of, entries)) else ()
    table = Table(pad_edge=False)
    for heading in ("run", "state", "steps", *scores, "trained", "left"):
        table.add_column(heading, justify="left" if heading in ("run", "state") else "right")
    for entry in entries:
        state, steps, ppl, bleu, *times = _cells(entry)
        cells = (state, steps, *((ppl, bleu) if scores else ()), *times)
        table.add_row(str(entry.directory.path.relative_to(runs)), *cells)
    return table


def _has_seeds(entries: Iterable[Entry]) -> bool:
    """Whether any row has several seeds."""
    records = [entry.record for entry in entries if entry.record is not None]
    rows = {(record.scale, record.data, record.experiment) for record in records}
    return len({(record.scale, record.data, record.experiment, record.seed) for record in records}) > len(rows)


def _seed_tables(entries: Iterable[Entry]) -> Iterator[tuple[str, Table]]:
    """Rows by seeds, a table with its title for each scale and corpus."""
    tables: dict[tuple[str, str], dict[str, dict[int, list[Entry]]]] = {}
    for entry in entries:
        if (record := entry.record) is not None:
            rows = tables.setdefault((record.scale, record.data), {})
            rows.setdefault(record.experiment, {}).setdefault(record.seed, []).append(entry)
    papers = [f"table3/{row.id}" for row in load_table3().rows]
    for (scale, data), rows in tables.items():
        table = Table(pad_edge=False)
        seeds = sorted({seed for row in rows.values() for seed in row})
        for heading in ("experiment", *(f"seed {seed}" for seed in seeds)):
            table.add_column(heading)
        for name in sorted(rows, key=lambda name: (papers.index(name) if name in papers else len(papers), name)):
            table.add_row(name, *(_cell(rows[name].get(seed, [])) for seed in seeds))
        yield f"scale {scale}, data {data}: PPL / BLEU (dev) of what is finished", table


def _cell(entries: Sequence[Entry]) -> str:
    """One run's scores, or its state and steps; several runs of one row and seed are counted."""
    if len(entries) != 1:
        states = [entry.state for entry in entries]
        return ", ".join(f"{states.count(state)} {state}" for state in State if state in states)
    (entry,) = entries
    if entry.state is not State.finished:
        return f"{entry.state} at {entry.step:,}"
    scores = scores_of(entry).items()
    return " / ".join(score if name in ("PPL", "BLEU") else f"{score} {name}" for name, score in scores)


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
