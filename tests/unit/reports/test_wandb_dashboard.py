"""The same records make the same report and workspace, and W&B's client reads them as they were written."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("wandb_workspaces", reason="the extra aiayn[dashboard] is not installed")

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces.reports.v2.interface import Panel
from wandb_workspaces.reports.v2.internal import ReportViewspec
from wandb_workspaces.workspaces.internal import View

from aiayn.reports.comparability import comparable_runs
from aiayn.reports.formats import markdown_table
from aiayn.reports.tables.table3 import Report, grids, report_of
from aiayn.reports.wandb_dashboard import Dashboard, build_dashboard
from aiayn.reports.wandb_panels import COLUMNS, CURVES, Subject
from aiayn.runs.ledger import read_results

MakeRun = Callable[..., Path]

SUBJECT = Subject("nano", "grammar", "paper", "BLEU", project="aiayn", entity="somebody")


@pytest.fixture
def table(make_run: MakeRun, tmp_path: Path) -> Report:
    """Of three rows."""
    for row in ("base", "a_h1", "e_learned"):
        make_run(row)
    runs = tmp_path / "runs"
    found = comparable_runs(read_results(runs), runs, scale=None, data=None, like=None)
    return report_of(found, resamples=100, seed=1)


def blocks(content: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [block for block in content["report"]["spec"]["blocks"] if block["type"] == kind]


def names(content: Any) -> Iterator[str]:
    """All ids of panels and run sets."""
    if isinstance(content, dict):
        yield from (content[key] for key in ("__id__", "id") if content.get(key))
        content = list(content.values())
    if isinstance(content, list):
        for entry in content:
            yield from names(entry)


def test_the_same_records_make_the_same_dashboard(table: Report) -> None:
    random.seed(1)
    first = build_dashboard(table, SUBJECT).content()
    following = random.random()
    random.seed(1)
    assert random.random() == following  # nobody else's numbers were drawn
    assert build_dashboard(table, SUBJECT).content() == first
    found = list(names(first))
    assert found
    assert len(found) == len(set(found))


def test_w_and_b_reads_what_it_is_sent(table: Report) -> None:
    content = build_dashboard(table, SUBJECT).content()
    read = Dashboard(
        wr.Report._from_model(ReportViewspec.model_validate(content["report"])),  # noqa: SLF001  # no public way
        ws.Workspace._from_model(View.model_validate(content["workspace"])),  # noqa: SLF001
    )
    read.report.width = "fluid"  # which W&B's client does not read
    assert read.content() == content
    (grid,) = (block for block in read.report.blocks if isinstance(block, wr.PanelGrid))
    assert all(isinstance(panel, Panel) for panel in grid.panels)  # what W&B's client does not know is none


def test_the_report_holds_the_whole_table_and_no_path(table: Report, tmp_path: Path) -> None:
    content = build_dashboard(table, SUBJECT).content()
    tables = [markdown_table(grid) for grid in grids(table)]
    assert len(tables) == len(blocks(content, "heading")) - 1  # the runs have one too
    written = [block["content"] for block in blocks(content, "markdown-block")]
    assert [text for text in written if text.startswith("|")] == [text.partition("\n\n")[2] for text in tables]
    assert "scale nano, data grammar" in written[0]
    assert content["report"]["displayName"] == content["workspace"]["displayName"] == SUBJECT.title
    assert str(tmp_path) not in str(content)


def test_what_is_compared_is_shown_in_both(table: Report) -> None:
    content = build_dashboard(table, SUBJECT).content()
    (grid,) = blocks(content, "panel-grid")
    in_report = grid["metadata"]["panelBankSectionConfig"]["panels"]
    sections = content["workspace"]["spec"]["section"]["panelBankConfig"]["sections"]
    in_workspace = [panel for section in sections for panel in section["panels"]]
    for panels in (in_report, in_workspace):
        metrics = [key for panel in panels for key in panel["config"].get("metrics", [])]
        assert {*CURVES, *SUBJECT.scores} <= set(metrics)
        assert {"Parallel Coordinates Plot", "Scatter Plot"} <= {panel["viewType"] for panel in panels}


def test_no_panel_of_the_report_lies_on_another(table: Report) -> None:
    (grid,) = blocks(build_dashboard(table, SUBJECT).content(), "panel-grid")
    boxes = [panel["layout"] for panel in grid["metadata"]["panelBankSectionConfig"]["panels"]]
    covered = [
        (column, line)
        for box in boxes
        for column in range(box["x"], box["x"] + box["w"])
        for line in range(box["y"], box["y"] + box["h"])
    ]
    assert len(covered) == len(set(covered))
    assert max(column for column, _ in covered) < COLUMNS
