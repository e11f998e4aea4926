"""The report and the workspace of W&B that show Table 3; the same records make the same bytes."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces import expr

from aiayn.config.difference import job_type, tag_of
from aiayn.extensions.page.workspaces_internals import content_of
from aiayn.paper.tables import SETTINGS, load_table3
from aiayn.reports.beside_base import VERDICT
from aiayn.reports.formats import markdown_table
from aiayn.reports.grid import Grid
from aiayn.reports.tables.table3 import grids, summary
from aiayn.reports.tables.table3_results import Report
from aiayn.tracking.wandb_internals import STEP

ORIGIN = (
    "Written by aiayn dashboard from the records of the runs; the next call writes it anew, so make a copy to edit."
)

TRAINING = ("train/loss", "train/ppl", "train/lr", "train/tokens_per_second")

AXES = (
    "model.num_heads",
    "model.d_k",
    "model.d_model",
    "model.d_ff",
    "model.dropout",
    "optimization.label_smoothing",
)
"""Settings of the parallel coordinates."""

ROW = "JobType"
"""W&B's name of the field in which the tracker states the row and the run's changes to it."""

MOST_ROWS = 100
"""Shown in one panel; W&B's own default is 10."""

BY_ROW: Any = {
    "groupby": ROW,
    "groupby_aggfunc": "mean",
    "groupby_rangefunc": "minmax",
    "max_runs_to_show": MOST_ROWS,
}
"""Settings of panels with a line or bar for each row."""

COLUMNS = 24  # of a report's grid of panels


@dataclass(frozen=True)
class Subject:
    """The runs of a dashboard by the tags that they have in W&B, and their project."""

    scale: str
    data: str
    fidelity: str
    bleu_name: str
    """BLEU, or BLEU_none where sacreBLEU did not tokenise."""
    project: str
    entity: str
    """Empty: the account's default."""
    difference: str = ""
    """The changes that all of the table's runs, base included, make in their rows."""
    job_types: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Those of the table's own runs, by row; a row without runs is expected to make base's changes."""

    @property
    def title(self) -> str:
        """Of the report and the workspace, by which they are found again; W&B allows no symbols in it."""
        words = ["Table 3", self.scale, self.data, self.fidelity if self.fidelity != "paper" else "", self.difference]
        return re.sub(r"[^\w., -]", "_", ", ".join(filter(None, words)))[:128]

    @property
    def scores(self) -> tuple[str, str]:
        """The two columns of the table as keys of the summary."""
        return "dev/ppl", f"dev/{self.bleu_name.lower()}"

    @property
    def curves(self) -> tuple[str, str]:
        """The same scores as keys of the history, during training."""
        return "val/ppl", f"val/{self.bleu_name.lower()}"

    @property
    def differences(self) -> tuple[str, str]:
        """The differences to base as keys of the summary; `<key>_low` and `<key>_high` are the ends of an interval."""
        return "vs_base/ppl", f"vs_base/{self.bleu_name.lower()}"

    @property
    def columns(self) -> list[str]:
        """Of the list of runs, in W&B's notation."""
        return [f"summary:{key}" for key in (*self.scores, *self.differences, VERDICT, "parameters")]

    def filters(self, rows: Iterable[str]) -> str:
        """The expression that selects the table's runs of some rows, without other variations of them."""
        types = [each for row in rows for each in self.job_types.get(row) or [job_type(row, self.difference)]]
        tags = map(tag_of, ("table3", self.fidelity, self.scale, self.data))
        tagged = [f"Metric('Tags') in [{_literal(tag)}]" for tag in tags if tag]
        return " and ".join([f"Metric('{ROW}') in [{', '.join(map(_literal, types))}]", *tagged])


def _literal(text: str) -> str:
    """A Python string without anything like an operator: W&B's client would edit it."""
    return "'" + re.sub(r"[^A-Za-z0-9_-]", lambda found: rf"\U{ord(found[0]):08x}", text) + "'"


@dataclass(frozen=True)
class Dashboard:
    """The report and the workspace as objects of W&B's client, not saved yet."""

    report: Any
    workspace: Any

    def content(self) -> dict[str, Any]:
        """Both as W&B gets them."""
        return {"report": content_of(self.report), "workspace": content_of(self.workspace)}


def build_dashboard(table: Report, subject: Subject) -> Dashboard:
    """The report and the workspace of a table of local records, and the runs of W&B to show beside it."""
    with _same_ids():
        return Dashboard(_report(table, subject), _workspace(subject))


@contextmanager
def _same_ids() -> Iterator[None]:
    """Seed the global generator, from which W&B's client draws the names of panels and run sets."""
    state = random.getstate()
    random.seed(0)
    try:
        yield
    finally:
        random.setstate(state)


def _report(table: Report, subject: Subject) -> Any:
    results, *others = grids(table)
    end = [*bars(subject), *differences(subject), sizes(subject), coordinates(subject)]
    return wr.Report(
        project=subject.project,
        entity=subject.entity,
        title=subject.title,
        description=f"Table 3 of “Attention Is All You Need” beside runs of scale {subject.scale} on {subject.data}.",
        width="fluid",
        blocks=[
            wr.P(ORIGIN),
            wr.MarkdownBlock("\n".join(f"- {line}" for line in (*summary(table), *table.remarks))),
            *_section(results),
            wr.H2("The runs"),
            wr.PanelGrid(runsets=run_sets(subject), panels=[*curves(subject.curves), *end]),
            *(block for other in others for block in _section(other)),
        ],
    )


def _section(grid: Grid) -> list[Any]:
    return [wr.H2(grid.title), wr.MarkdownBlock(markdown_table(replace(grid, title="")))]


def _workspace(subject: Subject) -> Any:
    over_steps = ws.SectionPanelSettings(x_axis=STEP)
    end = [*bars(subject), *differences(subject), sizes(subject)]
    return ws.Workspace(
        entity=subject.entity,
        project=subject.project,
        name=subject.title,
        sections=[
            ws.Section(
                name="Rows while they train", panels=curves(subject.curves), is_open=True, panel_settings=over_steps
            ),
            ws.Section(name="Rows in the end", panels=end, is_open=True),
            ws.Section(name="Settings", panels=[coordinates(subject)], is_open=True),
            ws.Section(name="Training", panels=curves(TRAINING), panel_settings=over_steps),
        ],
        settings=ws.WorkspaceSettings(x_axis=STEP, max_runs=MOST_ROWS),
        runset_settings=ws.RunsetSettings(
            filters=subject.filters(row.id for row in load_table3().rows),
            groupby=[expr.Metric(ROW)],
            order=[expr.Ordering(expr.Metric(ROW))],
            pinned_columns=subject.columns,
        ),
    )


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
    """A panel for each key of the history, with a line for each row: mean and range over its seeds."""
    return [
        wr.LinePlot(
            title=key,
            x=STEP,
            y=[key],
            title_x="optimizer step",
            smoothing_type="none",
            log_y=key == "val/ppl",
            layout=_cell(place),
            **BY_ROW,
        )
        for place, key in enumerate(keys)
    ]


def bars(subject: Subject) -> list[Any]:
    """A panel for each final score, with a bar for each row."""
    return [_bars(place, key, [key]) for place, key in enumerate(subject.scores)]


def differences(subject: Subject) -> list[Any]:
    """A panel for each score, with the difference of each row to base, and the ends of its 95% interval."""
    titles = ("log perplexity minus base's", "BLEU minus base's")
    return [
        _bars(place, f"{title}: low end, estimate, high end", [f"{key}_low", key, f"{key}_high"])
        for place, (key, title) in enumerate(zip(subject.differences, titles, strict=True))
    ]


def _bars(place: int, title: str, metrics: list[str]) -> Any:
    return wr.BarPlot(title=title, metrics=metrics, max_bars_to_show=MOST_ROWS, layout=_cell(place), **BY_ROW)


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
    keys = (*subject.scores, subject.differences[0])
    scores = [wr.ParallelCoordinatesPlotColumn(wr.SummaryMetric(key)) for key in keys]
    return wr.ParallelCoordinatesPlot(
        title="settings and scores", columns=[*settings, *scores], layout=_cell(0, across=1)
    )


def _cell(place: int, *, across: int = 2) -> Any:
    """The place of a panel among others of its width; W&B's client moves overlapping panels down."""
    width = COLUMNS // across
    return wr.Layout(x=place % across * width, y=place // across * 8, w=width, h=8)
