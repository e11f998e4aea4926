"""Run sets and panels ask for what runs send, whatever corpora are called."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("wandb_workspaces", reason="the extra aiayn[dashboard] is not installed")

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces import expr
from wandb_workspaces.reports.v2.interface import Panel

from aiayn.builders.training import describe
from aiayn.config.identity import flatten
from aiayn.config.schema import TrainConfig
from aiayn.paper.table3 import load_table3
from aiayn.reports.wandb_dashboard import Dashboard
from aiayn.reports.wandb_panels import AXES, Subject, bars, coordinates, differences, run_sets, sizes
from aiayn.tracking.tracker import RunDescription

FrozenRow = Callable[..., TrainConfig]
Described = Callable[[str], RunDescription]

ROWS = load_table3().rows
NAMES = st.text(st.characters(codec="utf-8"), min_size=1) | st.text("ab'\"\\=<>!&|() ", min_size=1)


def subject(*, scale: str = "nano", data: str = "grammar", bleu_name: str = "BLEU") -> Subject:
    return Subject(scale, data, "paper", bleu_name, project="aiayn", entity="somebody")


Conditions = list[dict[str, Any]]


def sent(ours: Subject, *panels: Panel) -> dict[str, Any]:
    """A report's grid of the run sets and panels, as W&B gets it."""
    report = wr.Report(entity="e", project="p", blocks=[wr.PanelGrid(runsets=run_sets(ours), panels=list(panels))])
    content = Dashboard(report, ws.Workspace(entity="", project="p")).content()
    (grid,) = (block for block in content["report"]["spec"]["blocks"] if block["type"] == "panel-grid")
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
    """What a run of a row tells the tracker; its settings are those of base."""

    def describe_row(row: str) -> RunDescription:
        config = frozen_row("table3/base")
        identity = dataclasses.replace(config.identity, experiment=f"table3/{row}")
        return describe(dataclasses.replace(config, identity=identity), run_id="0")

    return describe_row


def test_every_row_is_in_the_run_set_of_its_group_and_in_no_other() -> None:
    groups = {"base": "base", "big": "big"} | {letter: f"({letter})" for letter in "ABCDE"}
    sets = run_set_conditions(subject())
    assert set(sets) == set(groups.values())
    chosen = [(name, row) for name, (rows, *_) in sets.items() for row in rows["value"]]
    assert sorted(chosen) == sorted((groups[row.group], row.id) for row in ROWS)


@pytest.mark.parametrize("row", ["base", "a_h4", "c_d256"])
def test_a_run_is_found_by_what_it_tells_the_tracker(row: str, described: Described) -> None:
    sets = run_set_conditions(subject())
    assert sum(hold(conditions, described(row)) for conditions in sets.values()) == 1


@pytest.mark.parametrize("others", [subject(scale="small"), subject(data="multi30k")], ids=lambda other: other.title)
def test_runs_of_another_scale_or_corpus_are_in_none(others: Subject, described: Described) -> None:
    assert not any(hold(conditions, described("base")) for conditions in run_set_conditions(others).values())


def test_a_variation_is_in_no_run_set_of_its_row(frozen_row: FrozenRow) -> None:
    varied, trial = (
        describe(frozen_row("table3/base", word), run_id="0")
        for word in ("model.dropout=0.3", "trainer.fast_dev_run=true")
    )
    assert varied.tags[-1] == "variation"
    assert trial.tags[-1] == "trial"
    assert varied.job_type == "base dropout=0.3"
    sets = run_set_conditions(subject())
    assert not any(hold(conditions, each) for conditions in sets.values() for each in (varied, trial))


def test_what_all_runs_of_a_table_change_is_in_its_run_sets_and_its_title(frozen_row: FrozenRow) -> None:
    shared = "max_steps=500"
    ours = dataclasses.replace(subject(), difference=shared, job_types={"a_h1": ["a_h1 mine", "a_h1 other"]})
    sets = run_set_conditions(ours)
    assert sets["(A)"][0]["value"][:3] == ["a_h1 mine", "a_h1 other", f"a_h4 {shared}"]
    described = describe(frozen_row("table3/c_n4", f"optimization.{shared}"), run_id="0")
    assert [name for name, conditions in sets.items() if hold(conditions, described)] == ["(C)"]
    assert not any(hold(each, described) for each in run_set_conditions(subject()).values())
    assert ours.title == "Table 3, nano, grammar, max_steps_500"


def test_the_axes_are_keys_of_the_configuration_that_rows_change(described: Described) -> None:
    assert set(AXES) <= set(flatten(described("base").config))
    assert set(AXES) <= {key for row in ROWS for key in row.changes}
    columns = panel_config(subject(), coordinates(subject()))["columns"]
    accessors = [column["accessor"] for column in columns]
    for key, accessor in zip(AXES, accessors, strict=False):
        group, _, name = key.partition(".")
        assert accessor == f"config:{group}.value.{name}"  # W&B wraps what stands at the top


@given(NAMES, st.lists(NAMES, min_size=1))
def test_corpora_and_rows_may_be_called_anything(data: str, rows: list[str]) -> None:
    ours = subject(data=data)
    parsed = expr.filters_tree_to_v2(expr.expr_to_filters(ours.filters(rows)))["filters"]
    assert [parsed[0]["value"], parsed[-1]["value"]] == [rows, [data]]
    assert len(ours.title) <= 128
    assert ws.Workspace(entity="", project="p", name=ours.title).name == ours.title


def test_bleu_of_text_that_was_split_before_has_its_own_key() -> None:
    assert subject(bleu_name="BLEU_none").scores == ("dev/ppl", "dev/bleu_none")


def test_panels_show_the_scores_that_the_table_has() -> None:
    ours = subject()
    assert [panel.metrics for panel in bars(ours)] == [[key] for key in ours.scores]
    values = (2.5, 30.25)
    shown = [panel.custom_expressions for panel in differences(ours, values)]
    assert shown == [[f"${{{key}}} - {value:.6f}"] for key, value in zip(ours.scores, values, strict=True)]
    assert differences(ours, ()) == []
    assert panel_config(ours, sizes(ours))["yAxis"] == f"summary:{ours.scores[0]}"
    columns = [column["accessor"] for column in panel_config(ours, coordinates(ours))["columns"]]
    assert columns[len(AXES) :] == [f"summary:{key}" for key in ours.scores]
