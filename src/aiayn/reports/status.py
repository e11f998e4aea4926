"""The ledger on the terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from aiayn.config.command_schema import View
from aiayn.config.freeze import frozen_content
from aiayn.config.identity import result_leaves
from aiayn.errors import UserError
from aiayn.paper.tables import load_table3
from aiayn.reports.formats import console
from aiayn.reports.row import duration
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import Entry, State, read_ledger

if TYPE_CHECKING:
    from rich.console import JustifyMethod

    from aiayn.runs.record import Record

LATEST = {
    "val PPL": ("val/ppl", "{:.2f}"),
    "val BLEU": ("val/bleu", "{:.1f}"),
    "val F1": ("val/f1", "{:.1f}"),
    "tok/s": ("train/tokens_per_second", "{:,.0f}"),
}
"""The columns of runs that are training: their metrics, and how they are written."""


def print_status(runs: Path, view: View) -> None:
    """Print how the runs below a folder stand, and below the tables what went wrong where.

    Args:
        runs: the folder.
        view: a line for each run; or one for each row with a column for each seed, and a line for each run that has not
            finished; by default the latter where a row has several seeds.

    Raises:
        UserError: there is no such folder.
    """
    output = console()
    for part in status_parts(read_ledger(runs), runs, view):
        output.print(part, soft_wrap=isinstance(part, str))


def status_parts(
    entries: Sequence[Entry], runs: Path, view: View, *, with_finished: bool = True
) -> Iterator[str | Table]:
    """The printed parts of the ledger; arguments as for `print_status`.

    Args:
        entries: the ledger.
        runs: the folder.
        view: as for `print_status`.
        with_finished: whether there is a line for each run that has finished, where there would be one.
    """
    if not entries:
        yield f"no runs below {runs}"
        return
    variants = variants_of(entries)
    listed = [entry for entry in entries if with_finished or entry.state is not State.finished]
    if view is View.rows or (view is View.auto and _has_seeds(entries)):
        for title, table in _seed_tables(entries, variants):
            yield title
            yield table
        listed = [entry for entry in entries if entry.state is not State.finished]
    if listed:
        yield _list(listed, variants, runs)
    counts = {state: sum(entry.state is state for entry in entries) for state in State}
    yield ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    for entry in entries:
        if entry.message and entry.state is not State.finished:
            yield f"{entry.directory.path.relative_to(runs)}: {entry.message}"


def variants_of(entries: Iterable[Entry]) -> dict[Path, str]:
    """In what a row's runs differ where several have one seed, and what makes a run a trial; by their folders."""
    rows: dict[tuple[str, str, str], dict[Path, Record]] = {}
    variants: dict[Path, str] = {}
    for entry in entries:
        if (record := entry.record) is None:
            continue
        if record.trial is not None:
            variants[entry.directory.path] = record.trial
        else:
            rows.setdefault((record.scale, record.data, record.experiment), {})[entry.directory.path] = record
    for runs in rows.values():
        if len({record.seed for record in runs.values()}) < len(runs):
            settings = {path: _settings(path, record.config_hash) for path, record in runs.items()}
            keys = dict.fromkeys(key for each in settings.values() for key in each)
            differing = [key for key in keys if len({str(each.get(key)) for each in settings.values()}) > 1]
            variants |= {
                path: ", ".join(
                    f"{key.rpartition('.')[2]} {each[key]}" for key in differing if each.get(key) is not None
                )
                for path, each in settings.items()
            }
    return variants


@cache
def _settings(path: Path, config_hash: str) -> dict[str, Any]:
    """All that can change a run's result but its seed; nothing where its configuration cannot be read."""
    del config_hash  # another one is another configuration, which is read anew
    try:
        settings = result_leaves(frozen_content(RunDirectory(path).config))
    except UserError:
        return {}
    settings.pop("seed", None)
    return settings


def _list(entries: Sequence[Entry], variants: Mapping[Path, str], runs: Path) -> Table:
    """A line for each run; columns that all would leave blank are left out."""
    rows = [
        {
            "run": _named(str(entry.directory.path.relative_to(runs)), variants.get(entry.directory.path, "")),
            "state": str(entry.state),
            **_cells(entry),
        }
        for entry in entries
    ]
    always = ("run", "state", "steps", "trained", "left")
    headings = [heading for heading in rows[0] if heading in always or any(row[heading] for row in rows)]
    table = Table(pad_edge=False)
    for heading in headings:
        justify: JustifyMethod = "left" if heading in ("run", "state") else "right"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=heading in ("state", "steps"))
    for row in rows:
        table.add_row(*(row[heading] for heading in headings))
    return table


def _has_seeds(entries: Iterable[Entry]) -> bool:
    """Whether any row has several seeds."""
    records = [entry.record for entry in entries if entry.record is not None]
    rows = {(record.scale, record.data, record.experiment) for record in records}
    return len({(record.scale, record.data, record.experiment, record.seed) for record in records}) > len(rows)


def _seed_tables(entries: Iterable[Entry], variants: Mapping[Path, str]) -> Iterator[tuple[str, Table]]:
    """Rows by seeds, a table with its title for each scale and corpus; variants of a row have lines of their own."""
    tables: dict[tuple[str, str], dict[tuple[str, str], dict[int, list[Entry]]]] = {}
    for entry in entries:
        if (record := entry.record) is not None:
            rows = tables.setdefault((record.scale, record.data), {})
            row = record.experiment, variants.get(entry.directory.path, "")
            rows.setdefault(row, {}).setdefault(record.seed, []).append(entry)
    papers = [f"table3/{row.id}" for row in load_table3().rows]
    for (scale, data), rows in tables.items():
        table = Table(pad_edge=False)
        seeds = sorted({seed for row in rows.values() for seed in row})
        for heading in ("experiment", *(f"seed {seed}" for seed in seeds)):
            table.add_column(heading, overflow="fold")
        for row in sorted(rows, key=lambda row: (papers.index(row[0]) if row[0] in papers else len(papers), row)):
            table.add_row(_named(*row), *(_cell(rows[row].get(seed, [])) for seed in seeds))
        measure = _measure(rows)
        shown = "nothing is finished" if measure is None else f"PPL / {measure} (dev) of what is finished"
        yield f"scale {scale}, data {data}: {shown}", table


def _measure(rows: Mapping[tuple[str, str], Mapping[int, Iterable[Entry]]]) -> str | None:
    """The name of the score of the finished runs of one corpus; None if there are none."""
    names = {name for row in rows.values() for runs in row.values() for entry in runs for name in scores_of(entry)}
    return "F1" if "F1" in names else "BLEU" if names else None


def _named(name: str, variant: str) -> str:
    return f"{name}  {variant}" if variant else name


def _cell(entries: Sequence[Entry]) -> str:
    """One run's scores, or its state and steps; several runs of one row and seed are counted."""
    if len(entries) != 1:
        states = [entry.state for entry in entries]
        return ", ".join(f"{states.count(state)} {state}" for state in State if state in states)
    (entry,) = entries
    if entry.state is not State.finished:
        return f"{entry.state} at {entry.step:,}"
    scores = scores_of(entry).items()
    return " / ".join(score if name in ("PPL", "BLEU", "F1") else f"{score} {name}" for name, score in scores)


def steps_of(entry: Entry) -> str:
    """The optimizer steps done, and of how many where some are missing."""
    if entry.record is None:
        return ""
    is_whole = entry.record.max_steps in (None, entry.step)
    return f"{entry.step:,}" if is_whole else f"{entry.step:,} of {entry.record.max_steps:,}"


def scores_of(entry: Entry) -> dict[str, str]:
    """Perplexity, and BLEU or F1, on dev under their names; empty before the evaluation, and of trials."""
    dev = None if entry.record is None or entry.record.trial else entry.record.scores.get("dev")
    return {} if dev is None else {"PPL": f"{dev.ppl:.2f}", dev.quality_name: f"{dev.quality.score:.1f}"}


def _cells(entry: Entry) -> dict[str, str]:
    """The cells of a run, by column."""
    scores = scores_of(entry)
    latest = entry.latest if entry.state is State.running else {}
    left = entry.seconds_left
    return {
        "steps": steps_of(entry),
        **{heading: text.format(latest[key]) if key in latest else "" for heading, (key, text) in LATEST.items()},
        **{f"{name} (dev)": scores.get(name, "") for name in ("PPL", "BLEU", "BLEU_none", "F1")},
        "trained": "" if entry.record is None else duration(entry.seconds),
        "left": "" if left is None else duration(left),
    }
