"""The report of published scores of other work, beside those of the runs that reproduce them."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from aiayn.config.report_schema import ReportConfig
from aiayn.errors import UserError
from aiayn.evaluation.matrix import TITLES
from aiayn.evaluation.significance import Effect, EffectContent
from aiayn.paper.cells import read_yaml
from aiayn.reports.code_versions import code_versions, version_remarks
from aiayn.reports.comparability import (
    check_alike,
    check_duplicate_seeds,
    condition_differences,
    setting_differences,
    tested_differences,
)
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, Evidence, show
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import counted, effect_text, mean_text, two_decimals
from aiayn.reports.reported_runs import ReportedRun, RunProvenance, read_runs
from aiayn.reports.run_facts import origin_remarks, seed_grid


@dataclass(frozen=True)
class Published:
    """A published score."""

    source: str
    """The publication."""
    scored: str
    """The test set."""
    definition: str
    """The definition of the score, by its name in a matrix."""
    score: float
    """The score."""


def load_published() -> Mapping[str, Published]:
    """The published scores, by the experiment that reproduces them."""
    return {experiment: Published(**entry) for experiment, entry in read_yaml("reproductions.yaml").items()}


def difference(scores: Sequence[float], published: float) -> Effect:
    """The mean of runs with different seeds, less a published score.

    The published score is that of one run of an unknown seed. The variance of the difference is that of one further run
    and of the mean. Both sides score the same sentences, which are not resampled.
    """
    count = len(scores)
    error = statistics.stdev(scores) * math.sqrt(1 + 1 / count) if count > 1 else None
    return Effect(statistics.fmean(scores) - published, error, max(1, count - 1))


@dataclass(frozen=True)
class Reproduction:
    """A published score and the finished runs that reproduce it."""

    experiment: str
    published: Published
    runs: Sequence[ReportedRun]

    def scores(self, definition: str) -> list[float]:
        """Of each run, on the test set."""
        return [score for run in self.runs if (score := run.score("test", definition)) is not None]

    @property
    def difference(self) -> Effect | None:
        """Ours less the published score; None without runs."""
        scores = self.scores(self.published.definition)
        return difference(scores, self.published.score) if scores else None

    @property
    def definitions(self) -> list[str]:
        """Those that every run has, in the order of a matrix."""
        scored = [run.test.by_definition for run in self.runs if run.test is not None]
        return [name for name in TITLES if scored and all(name in each for each in scored)]


@dataclass(frozen=True)
class ReproductionContent:
    """A published score, and ours."""

    experiment: str
    """The experiment."""
    published: Published
    """The published score."""
    scores: Mapping[str, Sequence[float]]
    """Our scores by definition, one for each run."""
    difference: EffectContent | None
    """Our mean less the published score; None without runs."""
    runs: tuple[RunProvenance, ...]
    """The runs."""


@dataclass(frozen=True)
class ReproductionsContent(Content):
    """Published scores beside runs that reproduce them: aiayn report reproductions."""

    schema: ClassVar = "reproductions/1"

    reproductions: tuple[ReproductionContent, ...]
    """The published scores, by experiment."""


def report_reproductions(config: ReportConfig, output: Path | None) -> None:
    """Print the report, write it to a .md or .json file, or publish it with the data of its runs."""
    found = read_reproductions(Path(config.paths.runs), scale=config.only.scale, data=config.only.data)
    show(replace(document(found), evidence=Evidence([run for each in found for run in each.runs], "test")), output)


def read_reproductions(folder: Path, *, scale: str | None, data: str | None) -> list[Reproduction]:
    """Every published score, with the runs below a folder.

    Raises:
        UserError: runs of an experiment do not compare, or none has the published definition.
    """
    every = load_published()
    chosen = read_runs(ReportedRun, folder, list(every), scale=scale, data=data)
    found = []
    for experiment, published in every.items():
        runs = [run for run in chosen if run.record.experiment == experiment and run.test is not None]
        for differences in (condition_differences, setting_differences, tested_differences):
            check_alike(runs, differences)
        check_duplicate_seeds(runs, lambda run: run.record.experiment, "remove one of them")
        reproduction = Reproduction(experiment, published, runs)
        if runs and published.definition not in reproduction.definitions:
            raise UserError(
                f"{runs[0].path}: has no score by {published.definition}, as {experiment} was published; is the data "
                "that of the authors (data.pretokenized=true)?"
            )
        found.append(reproduction)
    return found


def document(reproductions: Sequence[Reproduction]) -> Document:
    """The report as plain data."""
    runs = [run for each in reproductions for run in each.runs]
    return Document(
        title="Published scores of other work, and ours",
        written="Written by `aiayn report reproductions` from the records of the runs.",
        grids=[
            _summary(reproductions),
            *(_definitions(each) for each in reproductions if each.runs),
            *([seed_grid(runs, "test")] if runs else []),
        ],
        remarks=[
            *_remarks(reproductions),
            *origin_remarks([run.record for run in runs]),
            *version_remarks(code_versions((run.path, run.record) for run in runs)),
        ],
        remarks_title="Conditions and remarks",
        runs=[run.path for run in runs],
        content=ReproductionsContent(
            tuple(
                ReproductionContent(
                    experiment=each.experiment,
                    published=each.published,
                    scores={name: each.scores(name) for name in each.definitions},
                    difference=None if (found := each.difference) is None else found.content,
                    runs=tuple(run.provenance for run in each.runs),
                )
                for each in reproductions
            )
        ),
    )


def _summary(reproductions: Sequence[Reproduction]) -> Grid:
    lines = []
    for each in reproductions:
        published = two_decimals(each.published.score)
        ours = mean_text(each.scores(each.published.definition), two_decimals) if each.runs else "pending"
        lines.append((each.experiment, published, ours, str(len(each.runs)), effect_text(each.difference, 2)))
    headings = ("<experiment", "published", "ours", "seeds", "ours - published")
    return Grid("By the published definition", headings, (tuple(lines),))


def _definitions(reproduction: Reproduction) -> Grid:
    lines = [
        (TITLES[name], mean_text(reproduction.scores(name), two_decimals), _mark(reproduction, name))
        for name in reproduction.definitions
    ]
    return Grid(f"{reproduction.experiment}, by definition", ("<definition", "ours", "published"), (tuple(lines),))


def _mark(reproduction: Reproduction, name: str) -> str:
    published = reproduction.published
    return two_decimals(published.score) if name == published.definition else ""


def _remarks(reproductions: Sequence[Reproduction]) -> Iterator[str]:
    for each in reproductions:
        yield f"{each.experiment}: {each.published.scored}; published in {each.published.source}"
    if any(len(each.runs) > 1 for each in reproductions):
        yield (
            "interval: 95%, of the difference between the published run, whose seed is unknown, and a further run of "
            "ours; it covers seeds, not the choice of the test set"
        )
    for each in reproductions:
        found = each.difference
        if found is not None and found.low is not None and found.high is not None:
            holds = "contains" if found.low <= 0 <= found.high else "does not contain"
            yield f"{each.experiment}: the interval, from {counted(len(each.runs), 'seed')}, {holds} 0"
