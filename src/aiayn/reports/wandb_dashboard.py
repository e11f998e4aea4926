"""The report and the workspace of W&B that show Table 3: built without asking anybody, so always the same bytes."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces import expr

from aiayn.paper.claims import Metric
from aiayn.paper.tables import load_table3
from aiayn.reports.formats import Grid, markdown_table
from aiayn.reports.tables.table3 import Report, grids, summary
from aiayn.reports.wandb_panels import (
    CURVES,
    MOST_ROWS,
    ROW,
    STEP,
    TRAINING,
    Subject,
    bars,
    coordinates,
    curves,
    differences,
    run_sets,
    sizes,
)

ORIGIN = (
    "Written by aiayn dashboard from the records of the runs; the next call writes it anew, so make a copy to edit."
)


@dataclass(frozen=True)
class Dashboard:
    """The report and the workspace as objects of W&B's client; neither is saved yet."""

    report: Any
    workspace: Any

    def content(self) -> dict[str, Any]:
        """Both as W&B gets them."""
        models = {"report": self.report._to_model(), "workspace": self.workspace._to_model()}  # noqa: SLF001 no public way
        return {
            name: json.loads(model.model_dump_json(by_alias=True, exclude_none=True)) for name, model in models.items()
        }


def build_dashboard(table: Report, subject: Subject) -> Dashboard:
    """The report and the workspace of a table.

    Run sets name no project, which to W&B is the report's own.

    Args:
        table: the comparison with the paper, from local records.
        subject: which runs of W&B are shown beside it.
    """
    with _same_ids():
        return Dashboard(_report(table, subject), _workspace(table, subject))


@contextmanager
def _same_ids() -> Iterator[None]:
    """W&B's client names panels and run sets by the global generator: let it draw the same names every time."""
    state = random.getstate()
    random.seed(0)
    try:
        yield
    finally:
        random.setstate(state)


def _report(table: Report, subject: Subject) -> Any:
    results, *others = grids(table)
    grid = wr.PanelGrid(
        runsets=run_sets(subject),
        panels=[*curves(CURVES), *_ends(table, subject), sizes(subject), coordinates(subject)],
    )
    notes = "\n".join(f"- {line}" for line in (*summary(table), *table.remarks))
    return wr.Report(
        project=subject.project,
        entity=subject.entity,
        title=subject.title,
        description=f"Table 3 of “Attention Is All You Need” beside runs of scale {subject.scale} on {subject.data}.",
        width="fluid",
        blocks=[
            wr.P(ORIGIN),
            wr.MarkdownBlock(notes),
            *_section(results),
            wr.H2("The runs"),
            grid,
            *(block for other in others for block in _section(other)),
        ],
    )


def _section(grid: Grid) -> list[Any]:
    """A heading that W&B knows as one, and the table."""
    _, _, table = markdown_table(grid).partition("\n\n")
    return [wr.H2(grid.title), wr.MarkdownBlock(table)]


def _ends(table: Report, subject: Subject) -> list[Any]:
    """Scores in the end, and what rows have less or more than base."""
    (base,) = (line for line in table.lines if line.row.group == "base")
    values = [base.measured[metric].value for metric in Metric if metric in base.measured]
    return [*bars(subject), *differences(subject, values)]


def _workspace(table: Report, subject: Subject) -> Any:
    over_steps = ws.SectionPanelSettings(x_axis=STEP)
    return ws.Workspace(
        entity=subject.entity,
        project=subject.project,
        name=subject.title,
        sections=[
            ws.Section(name="Rows while they train", panels=curves(CURVES), is_open=True, panel_settings=over_steps),
            ws.Section(name="Rows in the end", panels=[*_ends(table, subject), sizes(subject)], is_open=True),
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
