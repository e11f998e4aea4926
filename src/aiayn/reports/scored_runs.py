"""Runs of a table's experiments and what they scored on the test set; seeds taken together."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiayn.config.errors import UserError
from aiayn.reports.table3_runs import is_chosen
from aiayn.runs.ledger import Entry, State, read_ledger
from aiayn.runs.record import Record, SplitScores


@dataclass(frozen=True)
class ScoredRun:
    """One run."""

    entry: Entry
    record: Record

    @property
    def path(self) -> Path:
        """Its directory."""
        return self.entry.directory.path

    @property
    def test(self) -> SplitScores | None:
        """What it scored on the test set; None until it has finished."""
        return self.record.scores.get("test") if self.entry.state is State.finished else None


def runs_of_table(folder: Path, prefix: str, *, scale: str | None, data: str | None) -> list[tuple[Entry, Record]]:
    """The runs of experiments whose names begin with the prefix, finished or not.

    Args:
        folder: with the runs; it may be missing.
        prefix: of the experiments' names.
        scale: only runs of this scale.
        data: only runs on this corpus, by name or by the first digits of its fingerprint.

    Raises:
        UserError: a record cannot be read.
    """
    entries = read_ledger(folder) if folder.is_dir() else []
    return [
        (entry, entry.record)
        for entry in entries
        if entry.record is not None
        and entry.record.experiment.startswith(prefix)
        and is_chosen(entry.record, scale=scale, data=data)
    ]


CONDITIONS: Mapping[str, Callable[[Record], str | None]] = {
    "scale": lambda record: record.scale,
    "data": lambda record: record.data_fingerprint,
}
"""What runs of one column have in common, by the key below `only` that chooses."""


def refuse_differing(runs: Sequence[ScoredRun], keys: Iterable[str] = tuple(CONDITIONS)) -> None:
    """Refuse runs that may not share a column.

    Args:
        runs: of the column.
        keys: in which of `CONDITIONS` they must agree.

    Raises:
        UserError: they differ there, or a seed of an experiment is there twice.
    """
    for run in runs[1:]:
        first = runs[0]
        for key in keys:
            own, other = CONDITIONS[key](run.record), CONDITIONS[key](first.record)
            if own != other:
                raise UserError(
                    f"{key} differs, {own} and {other} in {run.path} and {first.path}: choose with only.{key}="
                )
    seen: dict[tuple[str, int], ScoredRun] = {}
    for run in runs:
        twin = seen.setdefault((run.record.experiment, run.record.seed), run)
        if twin is not run:
            raise UserError(
                f"one seed stands more than once, in {twin.path} and {run.path}: move one of them elsewhere"
            )


def mean_text(values: Sequence[float | None], shown: Callable[[float], str]) -> str:
    """The mean of some runs, with its standard deviation where there are several; empty where one is not known."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return ""
    mean = shown(statistics.fmean(known))
    return mean if len(known) == 1 else f"{mean} ± {shown(statistics.stdev(known))}"
