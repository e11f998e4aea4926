"""Runs of a table's experiments, what they scored on the test set, and which of them may share a column."""

import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.config.freeze import frozen_content
from aiayn.config.identity import result_leaves
from aiayn.errors import UserError
from aiayn.paper.table3 import in_symbols
from aiayn.reports.table3_runs import is_chosen
from aiayn.runs.ledger import Entry, State, read_results
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

    @property
    def settings(self) -> dict[str, Any]:
        """Everything in its frozen configuration that can change a result, but for the seed."""
        leaves = result_leaves(frozen_content(self.entry.directory.config))
        return {key: value for key, value in leaves.items() if key != "seed"} | {"fidelity": self.record.fidelity}


def runs_of_table(
    folder: Path, experiments: Collection[str], *, scale: str | None, data: str | None
) -> list[tuple[Entry, Record]]:
    """The runs of a table's experiments, finished or not.

    Args:
        folder: with the runs; it may be missing.
        experiments: of the table.
        scale: only runs of this scale.
        data: only runs on this corpus, by name or by the first digits of its fingerprint.

    Raises:
        UserError: a record cannot be read, or there are runs and none is chosen.
    """
    entries = read_results(folder) if folder.is_dir() else []
    there = [(entry, entry.record) for entry in entries if entry.record and entry.record.experiment in experiments]
    chosen = [(entry, record) for entry, record in there if is_chosen(record, scale=scale, data=data)]
    if there and not chosen:
        known = sorted({f"scale {record.scale}, data {record.data}" for _, record in there})
        message = f"only.scale={scale}, only.data={data}: no such run below {folder}; there are {'; '.join(known)}"
        raise UserError(message)
    return chosen


CONDITIONS: Mapping[str, Callable[[Record], str | None]] = {
    "scale": lambda record: record.scale,
    "data": lambda record: record.data_fingerprint,
}
"""What runs of one column have in common, by the key below `only` that chooses."""


def refuse_apart(runs: Sequence[ScoredRun], keys: Iterable[str] = tuple(CONDITIONS)) -> None:
    """Refuse runs of different conditions.

    Args:
        runs: of the column.
        keys: in which of `CONDITIONS` they must agree.

    Raises:
        UserError: they do not.
    """
    for run in runs[1:]:
        for key in keys:
            own, other = CONDITIONS[key](run.record), CONDITIONS[key](runs[0].record)
            if own != other:
                raise UserError(f"{key} differs, {own} and {other} in {_paths(run, runs[0])}: choose with only.{key}=")


def refuse_twins(runs: Iterable[ScoredRun]) -> None:
    """Refuse a seed of one experiment that is there twice.

    Raises:
        UserError: there is one.
    """
    seen: dict[tuple[str, int], ScoredRun] = {}
    for run in runs:
        twin = seen.setdefault((run.record.experiment, run.record.seed), run)
        if twin is not run:
            raise UserError(f"one seed stands more than once, in {_paths(twin, run)}: move one of them elsewhere")


def _nothing(*_: ScoredRun) -> Collection[str]:
    return ()


def refuse_unlike(
    runs: Sequence[ScoredRun], free: Callable[[ScoredRun, ScoredRun], Collection[str]] = _nothing
) -> None:
    """Refuse runs that have been set up, tested or scored in different ways.

    Args:
        runs: of the column, all finished.
        free: keys of the configuration in which a run may differ from the first one.

    Raises:
        UserError: they differ elsewhere.
    """
    for run in runs[1:]:
        for key, own, other in _differing(run, runs[0], free(run, runs[0])):
            raise UserError(
                f"{key} differs, {own} and {other} in {_paths(run, runs[0])}: no column holds both; "
                "move one of them elsewhere"
            )


def _differing(run: ScoredRun, first: ScoredRun, free: Collection[str]) -> Iterator[tuple[str, Any, Any]]:
    """What two runs of a column may not differ in, and do: key, the value of either."""
    ours, theirs = run.settings, first.settings
    for key in sorted((ours.keys() | theirs.keys()) - set(free)):
        own, other = (settings.get(key, "nothing") for settings in (ours, theirs))
        if own != other:
            yield key, own, other
    assert run.test is not None and first.test is not None, "only finished runs share a column"  # noqa: PT018
    if run.test.sentences != first.test.sentences:
        yield "number of test sentences", run.test.sentences, first.test.sentences
    own_scores, other_scores = run.test.by_definition, first.test.by_definition
    for name in sorted(own_scores.keys() & other_scores.keys()):
        if own_scores[name].signature != other_scores[name].signature:
            yield name, own_scores[name].signature, other_scores[name].signature


def sizes_remark(name: str, run: ScoredRun, printed: Mapping[str, Any]) -> Iterator[str]:
    """A line where a run was trained with other sizes than the paper states.

    Args:
        name: of the run in the report.
        run: whose frozen configuration is read.
        printed: the paper's, by configuration key.
    """
    settings = run.settings
    trained = {key: settings.get(key) for key in printed}
    if trained != dict(printed):
        yield f"{name}: trained here with {in_symbols(trained)}; in the paper with {in_symbols(printed)}"


def _paths(*runs: ScoredRun) -> str:
    return " and ".join(str(run.path) for run in runs)


def mean_text(values: Sequence[float | None], shown: Callable[[float], str]) -> str:
    """The mean of some runs, with its standard deviation where there are several; empty where one is not known."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return ""
    mean = shown(statistics.fmean(known))
    return mean if len(known) == 1 else f"{mean} ± {shown(statistics.stdev(known))}"
