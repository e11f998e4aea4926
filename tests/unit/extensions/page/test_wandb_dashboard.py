"""The dashboard asks for what runs send, shows the table, and is the same for the same records."""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("wandb_workspaces", reason="the extra aiayn[dashboard] is not installed")

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces import expr
from wandb_workspaces.reports.v2.interface import Panel
from wandb_workspaces.reports.v2.internal import ReportViewspec
from wandb_workspaces.workspaces.internal import View

from aiayn.builders.training import describe
from aiayn.config.difference import tag_of
from aiayn.config.identity import flatten
from aiayn.config.schema import TrainConfig
from aiayn.extensions.page.wandb_dashboard import (
    AXES,
    COLUMNS,
    Dashboard,
    Subject,
    bars,
    build_dashboard,
    coordinates,
    differences,
    run_sets,
    sizes,
)
from aiayn.paper.tables import load_table3
from aiayn.reports.comparability import comparable_runs
from aiayn.reports.formats import markdown_table
from aiayn.reports.tables.table3 import grids
from aiayn.reports.tables.table3_results import Report, report_of
from aiayn.runs.ledger import read_results
from aiayn.tracking.tracker import RunDescription

MakeRun = Callable[..., Path]

SUBJECT = Subject("nano", "grammar", "paper", "BLEU", project="aiayn", entity="me")


@pytest.fixture
def table(make_run: MakeRun, tmp_path: Path) -> Report:
    """Of three rows."""
    for row in ("base", "a_h1", "e_learned"):
        make_run(row)
    runs = tmp_path / "runs"
    found = comparable_runs(read_results(runs), runs, scale=None, data=None, like=None)
    return report_of(found, runs)


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
    assert random.random() == following  # the global generator is as it was
    assert build_dashboard(table, SUBJECT).content() == first
    found = list(names(first))
    assert found
    assert len(found) == len(set(found))


def test_w_and_bs_client_reads_the_content_as_it_was_written(table: Report) -> None:
    content = build_dashboard(table, SUBJECT).content()
    read = Dashboard(
        wr.Report._from_model(ReportViewspec.model_validate(content["report"])),  # noqa: SLF001  # no public way
        ws.Workspace._from_model(View.model_validate(content["workspace"])),  # noqa: SLF001
    )
    read.report.width = "fluid"  # which W&B's client does not read
    assert read.content() == content
    (grid,) = (block for block in read.report.blocks if isinstance(block, wr.PanelGrid))
    assert all(isinstance(panel, Panel) for panel in grid.panels)  # unknown panels are none


def test_the_report_holds_the_whole_table_and_no_path(table: Report, tmp_path: Path) -> None:
    content = build_dashboard(table, SUBJECT).content()
    tables = [markdown_table(grid) for grid in grids(table)]
    assert len(tables) == len(blocks(content, "heading")) - 1  # the runs have one too
    written = [block["content"] for block in blocks(content, "markdown-block")]
    assert [text for text in written if text.startswith("|")] == [text.partition("\n\n")[2] for text in tables]
    assert "scale nano, data grammar" in written[0]
    assert content["report"]["displayName"] == content["workspace"]["displayName"] == SUBJECT.title
    assert str(tmp_path) not in str(content)


def test_report_and_workspace_show_the_same_metrics(table: Report) -> None:
    content = build_dashboard(table, SUBJECT).content()
    (grid,) = blocks(content, "panel-grid")
    in_report = grid["metadata"]["panelBankSectionConfig"]["panels"]
    sections = content["workspace"]["spec"]["section"]["panelBankConfig"]["sections"]
    in_workspace = [panel for section in sections for panel in section["panels"]]
    for panels in (in_report, in_workspace):
        metrics = [key for panel in panels for key in panel["config"].get("metrics", [])]
        assert {*SUBJECT.curves, *SUBJECT.scores} <= set(metrics)
        assert {"Parallel Coordinates Plot", "Scatter Plot"} <= {panel["viewType"] for panel in panels}


def test_no_panels_of_the_report_overlap(table: Report) -> None:
    (grid,) = blocks(build_dashboard(table, SUBJECT).content(), "panel-grid")
    boxes = [panel["layout"] for panel in grid["metadata"]["panelBankSectionConfig"]["panels"]]
    assert all(box["x"] + box["w"] <= COLUMNS for box in boxes)
    for one, other in combinations(boxes, 2):
        apart_across = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert apart_across or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]


FrozenRow = Callable[..., TrainConfig]
Described = Callable[[str], RunDescription]

ROWS = load_table3().rows
NAMES = st.text(st.characters(codec="utf-8"), min_size=1) | st.text("ab'\"\\=<>!&|() ", min_size=1)


Conditions = list[dict[str, Any]]


def sent(ours: Subject, *panels: Panel) -> dict[str, Any]:
    """A report's grid of the run sets and panels, as W&B gets it."""
    report = wr.Report(entity="e", project="p", blocks=[wr.PanelGrid(runsets=run_sets(ours), panels=list(panels))])
    content = Dashboard(report, ws.Workspace(entity="", project="p")).content()
    (grid,) = blocks(content, "panel-grid")
    found: dict[str, Any] = grid["metadata"]
    return found


def panel_config(ours: Subject, panel: Panel) -> dict[str, Any]:
    (shown,) = sent(ours, panel)["panelBankSectionConfig"]["panels"]
    config: dict[str, Any] = shown["config"]
    return config


def run_set_conditions(ours: Subject) -> dict[str, Conditions]:
    """The filters of every run set, all of which must hold, as W&B gets them."""
    found = {each["name"]: each["filters"]["filters"] for each in sent(ours)["runSets"]}
    for each in (condition for conditions in found.values() for condition in conditions):
        assert (each["op"], each.get("connector", "AND"), each["key"]["section"]) == ("IN", "AND", "run")
    return found


def hold(conditions: Conditions, described: RunDescription) -> bool:
    """Whether W&B finds a run: its job type is one of the values, one of its tags is."""
    known: Mapping[str, set[str]] = {"jobType": {described.job_type}, "tags": set(described.tags)}
    return all(known[each["key"]["name"]] & set(each["value"]) for each in conditions)


@pytest.fixture
def described(frozen_row: FrozenRow) -> Described:
    """The description of a run of a row, with the settings of base, as the tracker gets it."""

    def describe_row(row: str) -> RunDescription:
        config = frozen_row("table3/base")
        identity = replace(config.identity, experiment=f"table3/{row}")
        return describe(replace(config, identity=identity), run_id="0")

    return describe_row


def test_every_row_is_in_the_run_set_of_its_group_and_in_no_other() -> None:
    groups = {"base": "base", "big": "big"} | {letter: f"({letter})" for letter in "ABCDE"}
    sets = run_set_conditions(SUBJECT)
    assert set(sets) == set(groups.values())
    chosen = [(name, row) for name, (rows, *_) in sets.items() for row in rows["value"]]
    assert sorted(chosen) == sorted((groups[row.group], row.id) for row in ROWS)


def test_a_run_is_in_the_run_set_of_its_row_if_scale_and_corpus_are_the_subjects(described: Described) -> None:
    for row, group in (("base", "base"), ("a_h4", "(A)"), ("c_d256", "(C)")):
        sets = run_set_conditions(SUBJECT).items()
        assert [name for name, conditions in sets if hold(conditions, described(row))] == [group]
    for others in (replace(SUBJECT, scale="small"), replace(SUBJECT, data="multi30k")):
        assert not any(hold(conditions, described("base")) for conditions in run_set_conditions(others).values())


def test_a_variation_is_in_no_run_set_of_its_row(frozen_row: FrozenRow) -> None:
    varied, trial = (
        describe(frozen_row("table3/base", word), run_id="0")
        for word in ("model.dropout=0.3", "trainer.fast_dev_run=true")
    )
    assert varied.tags[-1] == "variation"
    assert trial.tags[-1] == "trial"
    assert varied.job_type == "base dropout=0.3"
    sets = run_set_conditions(SUBJECT)
    assert not any(hold(conditions, each) for conditions in sets.values() for each in (varied, trial))


def test_changes_of_all_runs_of_a_table_are_in_its_run_sets_and_title(frozen_row: FrozenRow) -> None:
    shared = "max_steps=500"
    ours = replace(SUBJECT, difference=shared, job_types={"a_h1": ["a_h1 mine", "a_h1 other"]})
    sets = run_set_conditions(ours)
    assert sets["(A)"][0]["value"][:3] == ["a_h1 mine", "a_h1 other", f"a_h4 {shared}"]
    described = describe(frozen_row("table3/c_n4", f"optimization.{shared}"), run_id="0")
    assert [name for name, conditions in sets.items() if hold(conditions, described)] == ["(C)"]
    assert not any(hold(each, described) for each in run_set_conditions(SUBJECT).values())
    assert ours.title == "Table 3, nano, grammar, max_steps_500"


def test_the_axes_are_keys_of_the_configuration_that_rows_change(described: Described) -> None:
    assert set(AXES) <= set(flatten(described("base").config))
    assert set(AXES) <= {key for row in ROWS for key in row.changes}
    accessors = [column["accessor"] for column in panel_config(SUBJECT, coordinates(SUBJECT))["columns"]]
    for key, accessor in zip(AXES, accessors, strict=False):
        group, _, name = key.partition(".")
        assert accessor == f"config:{group}.value.{name}"  # W&B wraps what stands at the top


@settings(max_examples=40)
@given(NAMES, st.lists(NAMES, min_size=1))
def test_corpora_and_rows_may_have_any_name(data: str, rows: list[str]) -> None:
    ours = replace(SUBJECT, data=data)
    parsed = expr.filters_tree_to_v2(expr.expr_to_filters(ours.filters(rows)))["filters"]
    assert [parsed[0]["value"], parsed[-1]["value"]] == [rows, [tag_of(data)]]
    assert len(ours.title) <= 128
    assert ws.Workspace(entity="", project="p", name=ours.title).name == ours.title


@pytest.mark.parametrize("name", ["BLEU", "BLEU_none"])
def test_curves_are_of_the_bleu_that_the_runs_log(name: str, table: Report) -> None:
    logged = set(
        re.findall("val/bleu\\w*", json.dumps(build_dashboard(table, replace(SUBJECT, bleu_name=name)).content()))
    )
    assert logged == {f"val/{name.lower()}"}


def test_panels_show_the_scores_that_the_table_has() -> None:
    assert replace(SUBJECT, bleu_name="BLEU_none").scores == ("dev/ppl", "dev/bleu_none")
    ours = SUBJECT
    assert [panel.metrics for panel in bars(ours)] == [[key] for key in ours.scores]
    assert replace(SUBJECT, bleu_name="BLEU_none").differences == ("vs_base/ppl", "vs_base/bleu_none")
    shown = [panel.metrics for panel in differences(ours)]
    assert shown == [[f"{key}_low", key, f"{key}_high"] for key in ours.differences]
    assert panel_config(ours, sizes(ours))["yAxis"] == f"summary:{ours.scores[0]}"
    columns = [column["accessor"] for column in panel_config(ours, coordinates(ours))["columns"]]
    assert columns[len(AXES) :] == [f"summary:{key}" for key in (*ours.scores, "vs_base/ppl")]
