"""The measurements of rows of runs, by the names of the rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from aiayn.evaluation.significance import Effect, Measured, Measurements, measure
from aiayn.paper.claims import Metric
from aiayn.reports.reported_runs import ReportedRun


@dataclass(frozen=True)
class MeasuredRows:
    """The measurements of the rows with finished runs."""

    measured: Measurements | None
    """None if there are none."""
    places: Mapping[str, int]
    """The index of each row among the measured systems, by row id."""

    @classmethod
    def of(cls, rows: Mapping[str, Sequence[ReportedRun]]) -> Self:
        """The measurements on dev of rows with finished runs; UserError if the scores of sentences cannot be read."""
        systems = [[run.columns("dev") for run in runs] for runs in rows.values()]
        return cls(measure(systems) if systems else None, {row: n for n, row in enumerate(rows)})

    def by(self, metric: Metric) -> Measured:
        """The measurements of one metric; there are finished runs."""
        found: Measured = getattr(self.measured, metric)
        return found

    def difference(self, metric: Metric, first: str, second: str) -> Effect | None:
        """The first row minus the second; None if one of them has no finished run."""
        return self.contrast(metric, {first: 1.0, second: -1.0}, pooled=True)

    def contrast(self, metric: Metric, weights: Mapping[str, float], *, pooled: bool) -> Effect | None:
        """A weighted sum of rows; None if one of them has no finished run. See `Measured.contrast`."""
        if not self.places.keys() >= weights.keys():
            return None
        places = {self.places[row]: weight for row, weight in weights.items()}
        return self.by(metric).contrast(places, pooled=pooled)

    def score(self, metric: Metric, row: str) -> tuple[float, float | None]:
        """The mean of PPL or BLEU over the seeds of a row, and their standard deviation; None for one seed."""
        found, place = self.by(metric), self.places[row]
        deviation = float(found.deviations[place])
        return float(found.values[place]), None if math.isnan(deviation) else deviation

    def compared(self, metric: Metric) -> dict[str, float]:
        """The mean log PPL or BLEU of each row."""
        return {row: float(self.by(metric).compared[place]) for row, place in self.places.items()}

    def seeds(self, row: str) -> int:
        """The number of finished runs of a row."""
        return self.by(Metric.ppl).seeds[self.places[row]] if row in self.places else 0
