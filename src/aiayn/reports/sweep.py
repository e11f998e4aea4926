"""The jobs of a sweep on the terminal, from their records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from aiayn.reports.content import Content
from aiayn.reports.formats import console, print_content, print_grid, print_line, print_text
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import duration
from aiayn.reports.status import RunFolder, RunProgress, count_states, plain_entry, scores_of, steps_of
from aiayn.runs.ledger import Entry, State, SweptJob, read_entry
from aiayn.system import files
from aiayn.system.output_format import Format, output_format

REFUSED, NOT_BEGUN = "refused", "not begun"
"""The states of a job that left no record."""

OWN_COLUMNS = ("experiment=", "seed=")

METRICS = {
    "train/ppl": "ppl",
    "val/ppl": "val ppl",
    "val/bleu": "val bleu",
    "val/bleu_none": "val bleu_none",
    "val/f1": "val f1",
}
"""The metrics in the line of a running job, with their headings."""


@dataclass(frozen=True)
class Best:
    """The best job of a search."""

    run: Path
    """Run directory."""
    objective: str
    """The score that the search optimizes, ppl or bleu."""
    value: float
    """The score on dev."""
    command: str
    """The command that runs the job alone."""


@dataclass(frozen=True)
class JobContent(RunProgress, RunFolder):
    """A job of a sweep, by its record."""

    overrides: tuple[str, ...]
    """The words of the job."""


@dataclass(frozen=True)
class SweepContent(Content):
    """Jobs of a sweep: aiayn train -m."""

    schema: ClassVar = "sweep/1"

    jobs: tuple[JobContent, ...]
    """The jobs in the order of the sweep."""
    counts: Mapping[str, int]
    """The number of jobs by state."""
    best: Best | None
    """The best job of a search; None otherwise."""


def print_sweep(jobs: Sequence[SweptJob], *, best: Best | None = None) -> None:
    """Print a line for each job in the order of the sweep, counts of states, and the best job of a search."""
    entries = [read_entry(job.directory) if files.is_file(job.directory.record) else None for job in jobs]
    states = [_state(job, entry) for job, entry in zip(jobs, entries, strict=True)]
    if output_format() is Format.json:
        lines = tuple(_content(*each) for each in zip(jobs, entries, states, strict=True))
        print_content(SweepContent(lines, Counter(states), best))
        return
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
    if not any(columns["override"]):
        del columns["override"]
    texts = ("experiment", "override", "state")
    headings = tuple(f"<{heading}" if heading in texts else heading for heading in columns)
    output = console()
    print_grid(Grid("", headings, (tuple(zip(*columns.values(), strict=True)),)), output)
    output.print(count_states(states, (*State, REFUSED, NOT_BEGUN)))
    if best is not None:
        score = f"{best.objective.upper()} {best.value:.2f} (dev)"
        print_text(f"best: {score}, {best.run}", output)
        print_line(best.command, output)


def _content(job: SweptJob, entry: Entry | None, state: str) -> JobContent:
    """The run that a refused job would have been may be there, of an earlier command."""
    unknown: dict[str, Any] = {"step": 0, "max_steps": None, "seconds": 0.0, "seconds_left": None}
    facts = {**unknown, "message": None, "latest": {}, "scores": {}} if entry is None else plain_entry(entry)
    facts |= {
        "experiment": job.experiment,
        "seed": job.seed,
        "state": state,
        "message": job.failure or facts["message"],
    }
    return JobContent(run=job.directory.path, **facts, overrides=job.overrides)


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
