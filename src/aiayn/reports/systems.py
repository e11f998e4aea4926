"""Systems: the runs of a folder that differ by their seed alone, as a line or a column of a report shows them."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic

from aiayn.reports.numbers import mean_of, mean_text, two_decimals
from aiayn.reports.reported_runs import Run
from aiayn.runs.record import SplitScores


@dataclass(frozen=True)
class System(Generic[Run]):
    """Runs that differ by their seed alone."""

    runs: Sequence[Run]
    """Of all seeds, finished or not."""
    split: str
    """The split whose scores the report shows."""

    @property
    def experiment(self) -> str:
        """Its experiment."""
        return self.runs[0].record.experiment

    @property
    def finished(self) -> list[Run]:
        """The runs with scores."""
        return [run for run in self.runs if run.scores(self.split) is not None]

    @property
    def scores(self) -> list[SplitScores]:
        """The scores of the finished runs."""
        return [scores for run in self.runs if (scores := run.scores(self.split)) is not None]

    def mean(self, of: Callable[[Run], float | None]) -> float | None:
        """The mean over the finished runs; None if there are none, or one has no value."""
        return mean_of(list(map(of, self.finished)))

    def cell(self, of: Callable[[Run], float | None], shown: Callable[[float], str] = two_decimals) -> str:
        """The mean over the finished runs, empty if one has no value; the state of the last run before one finishes."""
        return mean_text(list(map(of, self.finished)), shown) if self.finished else self.runs[-1].entry.state.value


def systems(runs: Iterable[Run], by: Callable[[Run], Hashable], *, split: str) -> list[System[Run]]:
    """The systems of runs, which `by` gives a key each, in the order of their first runs."""
    alike: dict[Hashable, list[Run]] = {}
    for run in runs:
        alike.setdefault(by(run), []).append(run)
    return [System(found, split) for found in alike.values()]


def score_text(scores: Sequence[SplitScores], name: str) -> str:
    """The mean of a score, named as in `SplitScores.by_definition`, over seeds; empty if one of them lacks it."""
    found = (of_run.by_definition.get(name) for of_run in scores)
    return mean_text([None if score is None else score.score for score in found], two_decimals)
