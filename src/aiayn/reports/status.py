"""The ledger on the terminal, once or updated while runs train."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from aiayn.config.command_schema import View
from aiayn.config.freeze import frozen_content
from aiayn.config.identity import result_leaves
from aiayn.errors import UserError
from aiayn.paper.tables import load_table3
from aiayn.reports.formats import console
from aiayn.reports.numbers import duration
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import Entry, State, read_ledger

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.segment import Segment

    from aiayn.runs.record import Record

LATEST = {
    "val PPL": ("val/ppl", "{:.2f}"),
    "val BLEU": ("val/bleu", "{:.1f}"),
    "val F1": ("val/f1", "{:.1f}"),
    "tok/s": ("train/tokens_per_second", "{:,.0f}"),
}
"""The columns of runs that are training: metric and format."""


def print_status(runs: Path, view: View) -> None:
    """Print the state of the runs below a folder.

    Args:
        runs: the folder.
        view: a line for each run; or one for each row with a column for each seed, and one for each run that has not
            finished; by default the latter if a row has several seeds.

    Raises:
        UserError: there is no such folder.
    """
    output = console()
    for part in _parts(read_ledger(runs), runs, view):
        output.print(part, soft_wrap=isinstance(part, str))


def watch_status(runs: Path, view: View, *, interval: float) -> None:
    """Show the state of the runs below a folder until Ctrl-C, drawn anew whenever it has changed.

    Args:
        runs: the folder.
        view: as for `print_status`; finished runs have no line if the terminal is too low for all.
        interval: seconds between two looks.

    Raises:
        UserError: there is no such folder, standard output is no terminal, or the interval is not positive.
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
    entries = read_ledger(runs)
    whole, short = (
        Group(
            *(Text(part) if isinstance(part, str) else part for part in _parts(entries, runs, view, is_short=is_short))
        )
        for is_short in (False, True)
    )
    return whole if len(output.render_lines(whole)) < output.height else short


def _parts(entries: Sequence[Entry], runs: Path, view: View, *, is_short: bool = False) -> Iterator[str | Table]:
    """The printed parts; a short status has no line for each finished run."""
    if not entries:
        yield f"no runs below {runs}"
        return
    variants = _variants(entries)
    unfinished = [entry for entry in entries if entry.state is not State.finished]
    listed = unfinished if is_short else entries
    if view is View.rows or (view is View.auto and _has_seeds(entries)):
        for title, table in _seed_tables(entries, variants):
            yield title
            yield table
        listed = unfinished
    if listed:
        yield _list(listed, variants, runs)
    yield count_states(entry.state for entry in entries)
    for entry in listed:
        if entry.message:
            yield f"{entry.directory.path.relative_to(runs)}: {entry.message}"


def count_states(states: Iterable[str], order: Iterable[str] = State) -> str:
    """As in "3 finished, 1 failed"."""
    counts = Counter(states)
    return ", ".join(f"{counts[state]} {state}" for state in order if counts[state])


def _variants(entries: Iterable[Entry]) -> dict[Path, str]:
    """The settings in which runs of one row and seed differ, and the reason of a trial, by run directory."""
    rows: defaultdict[tuple[str, ...], list[Entry]] = defaultdict(list)
    variants: dict[Path, str] = {}
    for entry in entries:
        if entry.record is not None and entry.record.trial is not None:
            variants[entry.directory.path] = entry.record.trial
        elif entry.record is not None:
            rows[_row(entry.record)].append(entry)
    for runs in rows.values():
        if len({run.record.seed for run in runs if run.record}) < len(runs):
            settings = {run.directory.path: run_settings(run) for run in runs}
            keys = dict.fromkeys(key for each in settings.values() for key in each)
            differing = [key for key in keys if len({str(each.get(key)) for each in settings.values()}) > 1]
            for path, each in settings.items():
                named = (f"{key.rpartition('.')[2]} {each[key]}" for key in differing if each.get(key) is not None)
                variants[path] = ", ".join(named)
    return variants


def _row(record: "Record") -> tuple[str, str, str]:
    return record.scale, record.data, record.experiment


def run_settings(entry: Entry) -> Mapping[str, Any]:
    """All settings that can change a run's result, except the seed; empty if they cannot be read."""
    try:
        return _settings(entry.directory.path, entry.record.config_hash) if entry.record else {}
    except UserError:
        return {}


@cache
def _settings(path: Path, config_hash: str) -> Mapping[str, Any]:
    del config_hash  # a new one is read anew
    settings = result_leaves(frozen_content(RunDirectory(path).config))
    return {key: value for key, value in settings.items() if key != "seed"}


def _has_seeds(entries: Iterable[Entry]) -> bool:
    """Whether any row has several seeds."""
    runs = {(_row(entry.record), entry.record.seed) for entry in entries if entry.record is not None}
    return len(runs) > len({row for row, _ in runs})


def _seed_tables(entries: Iterable[Entry], variants: Mapping[Path, str]) -> Iterator[tuple[str, Table]]:
    """Rows by seeds, a table with its title for each scale and corpus; variants of a row have lines of their own."""
    tables: dict[tuple[str, str], dict[tuple[str, str], dict[int, list[Entry]]]] = {}
    for entry in entries:
        if (record := entry.record) is not None:
            rows = tables.setdefault((record.scale, record.data), {})
            row = record.experiment, variants.get(entry.directory.path, "")
            rows.setdefault(row, {}).setdefault(record.seed, []).append(entry)
    papers = {f"table3/{row.id}": place for place, row in enumerate(load_table3().rows)}
    for (scale, data), rows in tables.items():
        table = Table(pad_edge=False)
        seeds = sorted({seed for row in rows.values() for seed in row})
        for heading in ("experiment", *(f"seed {seed}" for seed in seeds)):
            table.add_column(heading, overflow="fold")
        for row in sorted(rows, key=lambda row: (papers.get(row[0], len(papers)), row)):
            table.add_row("  ".join(filter(None, row)), *(_cell(rows[row].get(seed, [])) for seed in seeds))
        names = {name for row in rows.values() for runs in row.values() for entry in runs for name in scores_of(entry)}
        shown = f"PPL / {'F1' if 'F1' in names else 'BLEU'} (dev) of what is finished"
        yield f"scale {scale}, data {data}: {shown if names else 'nothing is finished'}", table


def _cell(entries: Sequence[Entry]) -> str:
    """One run's scores, or its state and steps; several runs of one row and seed are counted."""
    if len(entries) != 1:
        return count_states(entry.state for entry in entries)
    (entry,) = entries
    if entry.state is not State.finished:
        return f"{entry.state} at {entry.step:,}"
    scores = scores_of(entry).items()
    return " / ".join(score if name in ("PPL", "BLEU", "F1") else f"{score} {name}" for name, score in scores)


def _list(entries: Sequence[Entry], variants: Mapping[Path, str], runs: Path) -> Table:
    """A line for each run, without columns that are blank for all."""
    rows = [_cells(entry, variants.get(entry.directory.path, ""), runs) for entry in entries]
    always = ("run", "state", "steps", "trained", "left")
    table = Table(pad_edge=False)
    headings = [heading for heading in rows[0] if heading in always or any(row[heading] for row in rows)]
    for heading in headings:
        justify: JustifyMethod = "left" if heading in ("run", "state") else "right"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=heading in ("state", "steps"))
    for row in rows:
        table.add_row(*(row[heading] for heading in headings))
    return table


def _cells(entry: Entry, variant: str, runs: Path) -> dict[str, str]:
    """The cells of a run, by column."""
    scores = scores_of(entry)
    latest = entry.latest if entry.state is State.running else {}
    return {
        "run": "  ".join(filter(None, (str(entry.directory.path.relative_to(runs)), variant))),
        "state": str(entry.state),
        "steps": steps_of(entry),
        **{heading: text.format(latest[key]) if key in latest else "" for heading, (key, text) in LATEST.items()},
        **{f"{name} (dev)": scores.get(name, "") for name in ("PPL", "BLEU", "BLEU_none", "F1")},
        "trained": "" if entry.record is None else duration(entry.seconds),
        "left": "" if entry.seconds_left is None else duration(entry.seconds_left),
    }


def steps_of(entry: Entry) -> str:
    """The optimizer steps done, as in "300 of 1,000" until all are."""
    if entry.record is None:
        return ""
    is_whole = entry.record.max_steps in (None, entry.step)
    return f"{entry.step:,}" if is_whole else f"{entry.step:,} of {entry.record.max_steps:,}"


def scores_of(entry: Entry) -> dict[str, str]:
    """Perplexity, and BLEU or F1, on dev by name; empty before the evaluation, and of trials."""
    dev = None if entry.record is None or entry.record.trial else entry.record.scores.get("dev")
    return {} if dev is None else {"PPL": f"{dev.ppl:.2f}", dev.quality_name: f"{dev.quality.score:.1f}"}
