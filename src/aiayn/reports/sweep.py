"""The jobs of a sweep on the terminal, from their records."""

from collections.abc import Sequence

from rich.table import Table

from aiayn.reports.formats import console
from aiayn.reports.numbers import duration
from aiayn.reports.status import count_states, scores_of, steps_of
from aiayn.runs.ledger import Entry, State, SweptJob, read_entry

REFUSED, NOT_BEGUN = "refused", "not begun"
"""The states of a job that left no record."""

OWN_COLUMNS = ("experiment=", "seed=")

METRICS = {"train/ppl": "ppl", "val/ppl": "val ppl", "val/bleu": "val bleu"}
"""The metrics in the line of a running job, with their headings."""


def print_sweep(jobs: Sequence[SweptJob]) -> None:
    """Print a line for each job in the order of the sweep, and how many are in which state."""
    entries = [read_entry(job.directory) if job.directory.record.is_file() else None for job in jobs]
    states = [_state(job, entry) for job, entry in zip(jobs, entries, strict=True)]
    scores = [{} if entry is None else scores_of(entry) for entry in entries]
    # BLEU of different definitions are different columns.
    names = ["PPL", *sorted({name for each in scores for name in each} - {"PPL"})]
    columns: dict[str, Sequence[str]] = {
        "experiment": [job.experiment for job in jobs],
        "seed": [str(job.seed) for job in jobs],
        "override": differing_overrides([job.overrides for job in jobs]),
        "state": states,
        "steps": ["" if entry is None else steps_of(entry) for entry in entries],
        **{f"{name} (dev)": [each.get(name, "") for each in scores] for name in names},
    }
    table = Table(pad_edge=False)
    if not any(columns["override"]):
        del columns["override"]
    for heading in columns:
        table.add_column(heading, justify="left" if heading in ("experiment", "override", "state") else "right")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    output = console()
    output.print(table)
    output.print(count_states(states, (*State, REFUSED, NOT_BEGUN)))


def print_best(job: SweptJob, score: str, *, command: str) -> None:
    """Print the best job of a search, and the command that runs it alone."""
    output = console()
    for line in (f"best: {score}, {job.directory.path}", command):
        output.print(line, soft_wrap=True)


def progress_in_words(entry: Entry | None) -> str:
    """The progress of a running job."""
    if entry is None or entry.record is None or entry.state is not State.running:
        return "starting"
    if not entry.record.has_begun:
        return "preparing"
    if entry.step == entry.record.max_steps or entry.record.message:  # ended early
        return "evaluating"
    words = ["running", f"step {steps_of(entry)}"]
    words += [f"{name} {entry.latest[key]:.4g}" for key, name in METRICS.items() if key in entry.latest]
    if entry.seconds_left is not None:
        words.append(f"{duration(entry.seconds_left)} left")
    return "  ".join(words)


def end_in_words(entry: Entry | None, *, has_failed: bool) -> str:
    """The result of a job that has ended."""
    if entry is None or (has_failed and entry.state is State.finished):
        return REFUSED
    if entry.state is not State.finished:
        return f"{entry.state} at step {steps_of(entry)}"
    scores = (f"{name} {score}" for name, score in scores_of(entry).items())
    return "  ".join([entry.state, *scores, f"trained {duration(entry.seconds)}"])


def differing_overrides(jobs: Sequence[Sequence[str]]) -> list[str]:
    """The overrides of each job that not all jobs have, without those with a column of their own."""
    common = set.intersection(*map(set, jobs)) if jobs else set()
    return [
        " ".join(word for word in overrides if word not in common and not word.startswith(OWN_COLUMNS))
        for overrides in jobs
    ]


def _state(job: SweptJob, entry: Entry | None) -> str:
    """A refused job may be one of a run that another job, or an earlier command, has finished."""
    if entry is None:
        return NOT_BEGUN if job.was_refused is False else REFUSED
    return REFUSED if job.was_refused and entry.state is State.finished else entry.state
