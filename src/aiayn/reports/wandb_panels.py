"""The run sets and panels of a W&B dashboard of Table 3."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import wandb_workspaces.reports.v2 as wr

from aiayn.config.difference import job_type
from aiayn.paper.tables import SETTINGS, load_table3

STEP = "trainer/global_step"
"""The x-axis of all curves: the optimizer step."""

CURVES = ("val/ppl", "val/bleu")
"""By which rows are compared while they train."""

TRAINING = ("train/loss", "train/ppl", "train/lr", "train/tokens_per_second")
"""By which a run is watched."""

AXES = (
    "model.num_heads",
    "model.d_k",
    "model.d_model",
    "model.d_ff",
    "model.dropout",
    "optimization.label_smoothing",
)
"""Settings of the parallel coordinates; nested keys of the configuration."""

ROW = "JobType"
"""W&B's name of what the tracker sets to the row and to what the run changes in it."""

MOST_ROWS = 100
"""Shown in one panel; W&B's own default is 10."""

COLUMNS = 24
"""Of a report's grid of panels."""


@dataclass(frozen=True)
class Subject:
    """The runs that a dashboard is about, in the words that they are tagged with, and where they are."""

    scale: str
    data: str
    fidelity: str
    bleu_name: str
    """BLEU, or BLEU_none where sacreBLEU did not tokenise."""
    project: str
    entity: str
    """Empty: the default one of whoever saves."""
    difference: str = ""
    """The changes that all of the table's runs, base included, make in their rows."""
    job_types: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Those of the table's own runs, by row; a row that has none yet is expected to change what base changes."""

    @property
    def title(self) -> str:
        """Of the report and of the workspace, by which they are found again; W&B takes no symbols there."""
        more = [self.fidelity] if self.fidelity != "paper" else []
        words = ", ".join(["Table 3", self.scale, self.data, *more, *filter(None, [self.difference])])
        return re.sub(r"[^\w., -]", "_", words)[:128]

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of all runs."""
        return "table3", self.fidelity, self.scale, self.data

    @property
    def scores(self) -> tuple[str, str]:
        """The two columns of the table as keys of the summary."""
        return "dev/ppl", f"dev/{self.bleu_name.lower()}"

    @property
    def columns(self) -> list[str]:
        """Of the list of runs, in W&B's notation."""
        return [f"summary:{key}" for key in (*self.scores, "parameters")]

    def filters(self, rows: Iterable[str]) -> str:
        """The expression that chooses the runs of some rows, as the table has them: other variations are left out."""
        types = [each for row in rows for each in self.job_types.get(row) or [job_type(row, self.difference)]]
        tagged = [f"Metric('Tags') in [{_literal(tag)}]" for tag in self.tags]
        return " and ".join([f"Metric('{ROW}') in [{', '.join(map(_literal, types))}]", *tagged])


def _literal(text: str) -> str:
    """A string of Python in which nothing looks like syntax: W&B's client edits operators wherever they stand."""
    return "'" + re.sub(r"[^A-Za-z0-9_-]", lambda found: rf"\U{ord(found[0]):08x}", text) + "'"


def run_sets(subject: Subject) -> list[Any]:
    """One for base, one for each of the groups (A) to (E), one for big."""
    groups: dict[str, list[str]] = {}
    for row in load_table3().rows:
        groups.setdefault(row.group, []).append(row.id)
    return [
        wr.Runset(
            name=f"({group})" if len(group) == 1 else group,
            filters=subject.filters(rows),
            groupby=[ROW],
            order=[wr.OrderBy(ROW, ascending=True)],
            pinned_columns=subject.columns,
        )
        for group, rows in groups.items()
    ]


def curves(keys: Iterable[str]) -> list[Any]:
    """A panel for each key of the history: a line for each row, over its seeds the mean and the range."""
    return [
        wr.LinePlot(
            title=key,
            x=STEP,
            y=[key],
            title_x="optimizer step",
            groupby=ROW,
            groupby_aggfunc="mean",
            groupby_rangefunc="minmax",
            smoothing_type="none",
            max_runs_to_show=MOST_ROWS,
            log_y=key == "val/ppl",
            layout=_cell(place, across=2),
        )
        for place, key in enumerate(keys)
    ]


def bars(subject: Subject) -> list[Any]:
    """A panel for each score at the end: a bar for each row."""
    return [
        wr.BarPlot(
            title=key,
            metrics=[key],
            groupby=ROW,
            groupby_aggfunc="mean",
            groupby_rangefunc="minmax",
            max_runs_to_show=MOST_ROWS,
            max_bars_to_show=MOST_ROWS,
            layout=_cell(place, across=2),
        )
        for place, key in enumerate(subject.scores)
    ]


def differences(subject: Subject, base: Sequence[float]) -> list[Any]:
    """A panel for each score: a bar for each row, less what base has.

    W&B computes the bars from its runs; base's scores are those of the local records, as in the table.

    Args:
        subject: the runs.
        base: its scores, in the order of `Subject.scores`; empty while base is not there.
    """
    return [
        wr.BarPlot(
            title=f"{key}, less base's {value:.2f}",
            metrics=[],
            custom_expressions=[f"${{{key}}} - {value:.6f}"],
            groupby=ROW,
            groupby_aggfunc="mean",
            groupby_rangefunc="minmax",
            max_runs_to_show=MOST_ROWS,
            max_bars_to_show=MOST_ROWS,
            layout=_cell(place, across=2),
        )
        for place, (key, value) in enumerate(zip(subject.scores, base, strict=False))
    ]


def sizes(subject: Subject) -> Any:
    """Parameters against perplexity, a point for each run."""
    return wr.ScatterPlot(
        title="parameters and perplexity",
        x=wr.SummaryMetric("parameters"),
        y=wr.SummaryMetric(subject.scores[0]),
        log_x=True,
        layout=_cell(0, across=1),
    )


def coordinates(subject: Subject) -> Any:
    """A line for each run through its settings, ending in its scores."""
    settings = [wr.ParallelCoordinatesPlotColumn(wr.Config(key), display_name=SETTINGS[key]) for key in AXES]
    scores = [wr.ParallelCoordinatesPlotColumn(wr.SummaryMetric(key)) for key in subject.scores]
    return wr.ParallelCoordinatesPlot(
        title="settings and scores", columns=[*settings, *scores], layout=_cell(0, across=1)
    )


def _cell(place: int, *, across: int) -> Any:
    """The place of a panel among others of its width; W&B's client moves those down that lie on others."""
    width = COLUMNS // across
    return wr.Layout(x=place % across * width, y=place // across * 8, w=width, h=8)
