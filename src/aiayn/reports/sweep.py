"""The jobs of a sweep on the terminal, from their records."""

from collections.abc import Iterable, Sequence

from rich.table import Table

from aiayn.reports.formats import console
from aiayn.reports.row import duration
from aiayn.reports.status import scores_of, steps_of
from aiayn.runs.ledger import Entry, State, SweptJob, read_entry

REFUSED, NOT_BEGUN = "refused", "not begun"
"""The states of a job that left no record."""

OWN_COLUMNS = ("experiment=", "seed=")

METRICS = {"train/ppl": "ppl", "val/ppl": "val ppl", "val/bleu": "val bleu"}
"""The metrics in the line of a running job, with their headings."""


def print_sweep(jobs: Sequence[SweptJob]) -> None:
    """Print a line for each job, and how many are in which state.

    Args:
        jobs: in the order of the sweep.
    """
    entries = [read_entry(job.directory) if job.directory.record.is_file() else None for job in jobs]
    differing = differing_overrides([job.overrides for job in jobs])
    has_overrides = any(differing)
    bleus = sorted({name for entry in entries if entry for name in scores_of(entry)} - {"PPL"})
    scores = ["PPL", *bleus]  # BLEU of different definitions share no column
    table = Table(pad_edge=False)
    words = ("experiment", "seed", *(("override",) if has_overrides else ()), "state")
    for heading in (*words, "steps", *(f"{score} (dev)" for score in scores)):
        table.add_column(heading, justify="left" if heading in words and heading != "seed" else "right")
    states = [_state(job, entry) for job, entry in zip(jobs, entries, strict=True)]
    for job, entry, overrides, state in zip(jobs, entries, differing, states, strict=True):
        cells = [job.experiment, str(job.seed), *([overrides] if has_overrides else []), state]
        table.add_row(*cells, *_cells(entry, scores))
    output = console()
    output.print(table)
    output.print(_counted(states))


def print_best(job: SweptJob, score: str, *, command: str) -> None:
    """Print the best job of a search, and the command that runs it alone."""
    output = console()
    for line in (f"best: {score}, {job.directory.path}", command):
        output.print(line, soft_wrap=True)


def progress_in_words(entry: Entry | None) -> str:
    """The progress of a running job."""
    record = None if entry is None else entry.record
    if entry is None or record is None or entry.state is not State.running:
        return "starting"
    if not record.has_begun:
        return "preparing"
    if entry.step == record.max_steps:
        return "evaluating"
    words = [f"step {steps_of(entry)}"]
    words += [f"{name} {entry.latest[key]:.4g}" for key, name in METRICS.items() if key in entry.latest]
    if entry.seconds_left is not None:
        words.append(f"{duration(entry.seconds_left)} left")
    return "  ".join(["running", *words])


def end_in_words(entry: Entry | None, *, has_failed: bool) -> str:
    """The result of a job that has ended."""
    if entry is None or (has_failed and entry.state is State.finished):
        return REFUSED
    words = [f"{name} {score}" for name, score in scores_of(entry).items()]
    if entry.state is State.finished:
        return "  ".join([entry.state, *words, f"trained {duration(entry.seconds)}"])
    return f"{entry.state} at step {steps_of(entry)}"


def differing_overrides(jobs: Sequence[Sequence[str]]) -> list[str]:
    """Of each job the overrides that not every job has, but for those with a column of their own."""
    common = set.intersection(*(set(overrides) for overrides in jobs)) if jobs else set()
    return [
        " ".join(word for word in overrides if word not in common and not word.startswith(OWN_COLUMNS))
        for overrides in jobs
    ]


def _state(job: SweptJob, entry: Entry | None) -> str:
    """A refused job may be one of a run that another job, or an earlier command, has finished."""
    if entry is None:
        return NOT_BEGUN if job.was_refused is False else REFUSED
    return REFUSED if job.was_refused and entry.state is State.finished else entry.state


def _cells(entry: Entry | None, scores: Sequence[str]) -> list[str]:
    if entry is None:
        return ["" for _ in ("steps", *scores)]
    found = scores_of(entry)
    return [steps_of(entry), *(found.get(name, "") for name in scores)]


def _counted(states: Iterable[str]) -> str:
    found = list(states)
    return ", ".join(f"{found.count(state)} {state}" for state in (*State, REFUSED, NOT_BEGUN) if state in found)
