"""The ledger on the terminal, once or updated while runs train."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from aiayn.config.command_schema import View
from aiayn.config.freeze import frozen_content
from aiayn.config.identity import result_leaves
from aiayn.errors import UserError
from aiayn.paper.tables import load_table3
from aiayn.reports.content import Content
from aiayn.reports.formats import console, print_content, print_grid, print_text, rich_tables
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import duration
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import Entry, State, read_ledger
from aiayn.runs.record import Record, SplitScores
from aiayn.system.output_format import Format, output_format

if TYPE_CHECKING:
    from rich.segment import Segment

LATEST = {
    "val PPL": ("val/ppl", "{:.2f}"),
    "val BLEU": ("val/bleu", "{:.1f}"),
    "val BLEU_none": ("val/bleu_none", "{:.1f}"),
    "val F1": ("val/f1", "{:.1f}"),
    "tok/s": ("train/tokens_per_second", "{:,.0f}"),
}
"""The columns of runs that are training: metric and format."""


@dataclass(frozen=True)
class RunFolder:
    """A run by its folder."""

    run: Path
    """Run directory."""


@dataclass(frozen=True)
class RunProgress:
    """The progress and the scores of a run; scores of trials are omitted."""

    experiment: str | None
    """The experiment; None if the record cannot be read."""
    seed: int | None
    """The seed; None if the record cannot be read."""
    state: str
    """The state, as in the ledger; of a job of a sweep also refused, and not begun."""
    message: str | None
    """Why it failed or stopped, or who holds it."""
    step: int
    """Optimizer steps done, as far as logged."""
    max_steps: int | None
    """Optimizer steps planned; None before training."""
    seconds: float
    """Wall time of training so far."""
    seconds_left: float | None
    """The estimated rest of the training; None unless it is training."""
    latest: Mapping[str, float]
    """The newest value of each metric, of runs that have not finished."""
    scores: Mapping[str, SplitScores]
    """The scores by split: dev, test; empty for trials."""


@dataclass(frozen=True)
class RunVariant(RunFolder):
    """A run beside others of its row."""

    settings: str | None
    """The settings in which runs of one row differ, or the reason of a trial; None if there are none."""
    scale: str | None
    """The scale; None if the record cannot be read."""
    data: str | None
    """The corpus; None if the record cannot be read."""


@dataclass(frozen=True)
class StatusOfRun(RunProgress, RunVariant):
    """The state of a run; scores of trials are omitted."""

    state: State
    """The state."""


@dataclass(frozen=True)
class StatusContent(Content):
    """Runs below a folder: aiayn status."""

    schema: ClassVar = "status/1"

    folder: Path
    """The folder."""
    runs: tuple[StatusOfRun, ...]
    """The runs by path."""
    counts: Mapping[State, int]
    """The number of runs by state."""


def print_status(runs: Path, view: View) -> None:
    """Print the state of the runs below a folder.

    Args:
        runs: the folder.
        view: a line for each run; or one for each row with a column for each seed, and one for each run that has not
            finished; by default the latter if a row has several seeds.

    Raises:
        UserError: there is no such folder.
    """
    if output_format() is Format.json:
        print_content(_content(read_ledger(runs), runs))
        return
    output = console()
    for part in _parts(read_ledger(runs), runs, view):
        if isinstance(part, Grid):
            print_grid(part, output)
        else:
            print_text(part, output)


def _content(entries: Sequence[Entry], folder: Path) -> StatusContent:
    variants = _variants(entries)
    runs = tuple(
        StatusOfRun(
            run=entry.directory.path,
            settings=variants.get(entry.directory.path) or None,
            scale=None if entry.record is None else entry.record.scale,
            data=None if entry.record is None else entry.record.data,
            **plain_entry(entry),
        )
        for entry in entries
    )
    return StatusContent(folder, runs, Counter(entry.state for entry in entries))


def plain_entry(entry: Entry) -> dict[str, Any]:
    """The state of a run for JSON; scores of trials are omitted."""
    record = entry.record
    scores = {} if record is None or record.trial else record.scores
    return {
        "experiment": None if record is None else record.experiment,
        "seed": None if record is None else record.seed,
        "state": entry.state,
        "message": entry.message,
        "step": entry.step,
        "max_steps": None if record is None else record.max_steps,
        "seconds": entry.seconds,
        "seconds_left": entry.seconds_left,
        "latest": entry.latest,
        "scores": scores,
    }


def watch_status(runs: Path, view: View, *, interval: float) -> None:
    """Show the state of the runs below a folder until Ctrl-C, drawn anew whenever it has changed.

    Args:
        runs: the folder.
        view: as for `print_status`; finished runs have no line if the terminal is too low for all.
        interval: seconds between two looks.

    Raises:
        UserError: there is no such folder, or standard output is no terminal.
    """
    output = console()
    if not output.is_terminal:
        raise UserError(
            "watch=true: standard output is no terminal; leave it out, and the present state is printed once"
        )
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
        Group(*_drawn(_parts(entries, runs, view, is_short=is_short), output.width)) for is_short in (False, True)
    )
    return whole if len(output.render_lines(whole)) < output.height else short


def _drawn(parts: Iterable[str | Grid], width: int) -> Iterator[Text | Table]:
    for part in parts:
        if isinstance(part, Grid):
            yield from rich_tables(part, width)
        else:
            yield Text(part)


def _parts(entries: Sequence[Entry], runs: Path, view: View, *, is_short: bool = False) -> Iterator[str | Grid]:
    """The printed parts; a short status has no line for each finished run."""
    if not entries:
        yield f"no runs below {runs}"
        return
    variants = _variants(entries)
    unfinished = [entry for entry in entries if entry.state is not State.finished]
    listed = unfinished if is_short else entries
    if view is View.rows or (view is View.auto and _has_seeds(entries, variants)):
        yield from _seed_grids(entries, variants)
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
    """The settings in which runs of one row differ, and the reason of a trial, by run directory."""
    rows: defaultdict[tuple[str, ...], list[Entry]] = defaultdict(list)
    variants: dict[Path, str] = {}
    for entry in entries:
        if entry.record is not None and entry.record.trial is not None:
            variants[entry.directory.path] = entry.record.trial
        elif entry.record is not None:
            rows[_row(entry.record)].append(entry)
    for runs in (runs for runs in rows.values() if len(runs) > 1):
        settings = {run.directory.path: found for run in runs if (found := run_settings(run))}
        keys = dict.fromkeys(key for each in settings.values() for key in each)
        differing = [key for key in keys if len({str(each.get(key)) for each in settings.values()}) > 1]
        for path, each in settings.items():
            named = (f"{key.rpartition('.')[2]} {each[key]}" for key in differing if each.get(key) is not None)
            variants[path] = ", ".join(named)
    return variants


def _row(record: Record) -> tuple[str, str, str]:
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


def _has_seeds(entries: Iterable[Entry], variants: Mapping[Path, str]) -> bool:
    """Whether any row has several seeds of the same settings."""
    runs = {
        ((*_row(entry.record), variants.get(entry.directory.path, "")), entry.record.seed)
        for entry in entries
        if entry.record is not None
    }
    return len(runs) > len({row for row, _ in runs})


def _seed_grids(entries: Iterable[Entry], variants: Mapping[Path, str]) -> Iterator[Grid]:
    """Rows by seeds, a table with its title for each scale and corpus; variants of a row have lines of their own."""
    tables: dict[tuple[str, str], dict[tuple[str, str], dict[int, list[Entry]]]] = {}
    for entry in entries:
        if (record := entry.record) is not None:
            rows = tables.setdefault((record.scale, record.data), {})
            row = record.experiment, variants.get(entry.directory.path, "")
            rows.setdefault(row, {}).setdefault(record.seed, []).append(entry)
    papers = {f"table3/{row.id}": place for place, row in enumerate(load_table3().rows)}
    for (scale, data), rows in tables.items():
        seeds = sorted({seed for row in rows.values() for seed in row})
        lines = tuple(
            (", ".join(filter(None, row)), *(_cell(rows[row].get(seed, [])) for seed in seeds))
            for row in sorted(rows, key=lambda row: (papers.get(row[0], len(papers)), row))
        )
        names = {name for row in rows.values() for runs in row.values() for entry in runs for name in scores_of(entry)}
        shown = f"PPL / {'F1' if 'F1' in names else 'BLEU'} (dev) of finished runs"
        title = f"scale {scale}, data {data}: {shown if names else 'nothing is finished'}"
        yield Grid(title, ("<experiment", *(f"<seed {seed}" for seed in seeds)), (lines,))


def _cell(entries: Sequence[Entry]) -> str:
    """One run's scores, or its state and steps; several runs of one row and seed are counted."""
    if len(entries) != 1:
        return count_states(entry.state for entry in entries)
    (entry,) = entries
    if entry.state is not State.finished:
        return f"{entry.state} at {entry.step:,}"
    scores = scores_of(entry).items()
    return " / ".join(score if name in ("PPL", "BLEU", "F1") else f"{score} {name}" for name, score in scores)


def _list(entries: Sequence[Entry], variants: Mapping[Path, str], runs: Path) -> Grid:
    """A line for each run, without columns that are blank for all."""
    rows = [_cells(entry, variants.get(entry.directory.path, ""), runs) for entry in entries]
    always = ("run", "state", "steps", "trained", "left")
    headings = [heading for heading in rows[0] if heading in always or any(row[heading] for row in rows)]
    titled = tuple(f"<{heading}" if heading in ("run", "state") else heading for heading in headings)
    return Grid("", titled, (tuple(tuple(row[heading] for heading in headings) for row in rows),))


def _cells(entry: Entry, variant: str, runs: Path) -> dict[str, str]:
    """The cells of a run, by column."""
    scores = scores_of(entry)
    latest = entry.latest if entry.state is State.running else {}
    return {
        "run": ", ".join(filter(None, (str(entry.directory.path.relative_to(runs)), variant))),
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
