"""`aiayn dashboard` by W&B's own client, against a stand-in for its server."""

import json
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from commands import Train

pytest.importorskip("wandb_workspaces", reason="the extra aiayn[dashboard] is not installed")

import wandb
from observers import wandb_processes
from wandb_server import ENTITY, KEY, RecordingServer

from aiayn.commands.front_end import main
from aiayn.config.identity import flatten
from aiayn.extensions.page.wandb_dashboard import AXES, TRAINING
from aiayn.tracking.wandb_internals import STEP

pytestmark = pytest.mark.slow

Dashboard = Callable[..., int]

TITLE = "Table 3, demo, grammar, "  # and what the tiny run changes in base
KINDS = ("runs", "project-view")
CURVES = ("val/ppl", "val/bleu")


@pytest.fixture(autouse=True)
def impatient(logged_in: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logged in at the recording server, with short timeouts."""
    monkeypatch.setattr(wandb.Api, "_HTTP_TIMEOUT", 2)  # WANDB_HTTP_TIMEOUT is read once, when it is imported


@pytest.fixture
def dashboard(trained_run: Path) -> Dashboard:
    """The command, of a run that was trained without W&B."""
    return lambda *words: main(["dashboard", "project=aiayn", f"paths.runs={trained_run.parents[2]}", *words])


def views(server: RecordingServer, kind: str) -> list[dict[str, Any]]:
    return [view for view in server.views.values() if view["type"] == kind]


def named_keys(panels: list[dict[str, Any]]) -> Iterator[str]:
    """What panels read: keys of the history, of the summary and of the configuration, the last two with prefixes."""
    for panel in panels:
        config = panel["config"]
        yield from config.get("metrics", [])
        yield from (config[axis] for axis in ("xAxis", "yAxis") if axis in config)
        yield from (column["accessor"] for column in config.get("columns", []))


@pytest.mark.long
def test_all_that_panels_read_is_what_a_run_sends(train: Train, server: RecordingServer) -> None:
    for seed in (1, 2):
        assert train("experiment=table3/base", f"seed={seed}", tracker="wandb") == 0
    assert train("experiment=table3/d_drop0", tracker="wandb") == 0
    assert main(["report", "table3", "wandb=true"]) == 0  # only then is a verdict due
    assert main(["dashboard"]) == 0  # project and entity are the run's
    *_, (_, run) = server.runs.items()
    history = {key for row in run.history for key in row}
    assert {STEP, *TRAINING} <= history
    assert set(CURVES) - history <= {"val/bleu"}  # which a run may be told to leave out
    assert set(AXES) <= set(flatten(run.config()))
    sent = history | set(run.summary) | {f"summary:{key}" for key in run.summary} | set(CURVES)
    sent |= {f"config:{key.replace('.', '.value.', 1)}" for key in flatten(run.config())}
    (workspace,) = views(server, "project-view")
    section = json.loads(workspace["spec"])["section"]
    read = set(named_keys([panel for each in section["panelBankConfig"]["sections"] for panel in each["panels"]]))
    assert read
    assert read <= sent
    (run_set,) = section["runSets"]
    known = {"jobType": {run.described("jobType")}, "tags": set(run.described("tags"))}
    assert all(known[each["key"]["name"]] & set(each["value"]) for each in run_set["filters"]["filters"])
    assert workspace["entityName"] == ENTITY


def test_a_second_call_updates_and_what_was_deleted_is_made_anew(
    dashboard: Dashboard, server: RecordingServer, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(2):
        other = {"displayName": f"mine {number}", "name": "mine", "projectName": "aiayn", "type": "runs", "spec": "{}"}
        server.views[f"mine{number}"] = {"id": f"mine{number}", **other}
    assert dashboard() == 0
    first = capfd.readouterr()
    ours = {kind: [view for view in views(server, kind) if view["displayName"].startswith(TITLE)] for kind in KINDS}
    assert [len(found) for found in ours.values()] == [1, 1]
    report, workspace = first.out.splitlines()
    assert report.endswith(f"--{ours['runs'][0]['id']}")
    assert report.startswith(f"{server.url}/{ENTITY}/aiayn/reports/")
    assert workspace.startswith(f"{server.url}/{ENTITY}/aiayn?nw=")
    assert not first.err
    before = dict(server.views)
    assert dashboard() == 0
    assert capfd.readouterr().out == first.out
    assert server.views.keys() == before.keys()
    assert all(server.views[key]["spec"] == before[key]["spec"] for key in before)
    for kind in KINDS:
        server.views.pop(ours[kind][0]["id"])
    assert dashboard() == 0
    assert len(server.views) == len(before)
    assert not wandb_processes()


def test_a_dry_run_asks_nobody_and_shows_what_would_be_sent(
    dashboard: Dashboard,
    server: RecordingServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("WANDB_API_KEY")
    assert dashboard("dry_run=true") == 0
    shown = capsys.readouterr().out
    assert dashboard("dry_run=true", "output=folder") == 0
    assert capsys.readouterr().out == "folder\n"
    assert not server.requests
    content = json.loads(shown)
    assert content == {name: json.loads((tmp_path / f"folder/{name}.json").read_text()) for name in content}
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    assert dashboard() == 0
    assert content["report"]["spec"] == json.loads(views(server, "runs")[0]["spec"])
    assert content["workspace"]["spec"] == json.loads(views(server, "project-view")[0]["spec"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["project=elsewhere"], f"project=elsewhere: {ENTITY} has no such project on "),
        (["project=null"], "project has no value, and "),
        (["output=folder"], "output=folder: nothing is written unless dry_run=true; state that as well"),
        (["only.scale=paper"], "only.scale=paper"),
        (["dry_run=true", "output=file"], "output=file: "),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], complaint: str, dashboard: Dashboard, tmp_path: Path, server: RecordingServer, capsys: Any
) -> None:
    (tmp_path / "file").touch()
    assert dashboard(*words) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"aiayn: {complaint}")
    assert said.count("\n") == 1
    assert not server.views


def test_without_a_login_nothing_is_asked(
    dashboard: Dashboard, server: RecordingServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WANDB_API_KEY")
    assert dashboard() == 2
    assert capsys.readouterr().err.startswith("aiayn: W&B: not logged in (wandb login, or WANDB_API_KEY)")
    assert not server.requests


def test_without_the_package_it_says_what_to_install(
    dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    assert dashboard() == 2
    assert capsys.readouterr().err.endswith("is not installed; pip install -e '.[dashboard]' in the checkout\n")


@pytest.mark.parametrize("trouble", ["the key is refused", "the server fails half way"])
def test_what_the_server_refuses_is_one_line(
    trouble: str, dashboard: Dashboard, server: RecordingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    if trouble == "the key is refused":
        server.refusal = HTTPStatus.UNAUTHORIZED
    else:
        server.fails_from = "UpsertView2"
    assert dashboard() == 1
    said = capsys.readouterr().err
    assert said.startswith(f"aiayn: W&B: {server.url.removeprefix('http://')} cannot be used (")
    assert said.count("\n") == 1
    assert KEY not in said
    assert not wandb_processes()
    server.refusal = server.fails_from = None
    assert dashboard() == 0  # what was made already is found
    assert [len(views(server, kind)) for kind in KINDS] == [1, 1]
