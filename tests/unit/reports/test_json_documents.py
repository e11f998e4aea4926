"""format=json prints one document, which is as its schema says, and output= writes the same."""

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from json_documents import SCHEMAS, problems, read_document

from aiayn.commands.front_end import COMMANDS
from aiayn.runs.cost import Attempt, Devices, RunCost

MakeRun = Callable[..., Path]
CommandLine = Callable[..., Any]

WITHOUT_RUNS = [
    "plan",
    "plan -m seed=1,2",
    "plan sweeps=own_idea scale=nano",
    "report fidelity",
    "report paper",
    "report paper table=2",
    "report table2",
    "report table4",
    "report reproductions",
]

WITH_RUNS: dict[str, Callable[[dict[str, Any]], int]] = {
    "status": lambda document: len(document["runs"]),
    "report table3": lambda document: sum(len(row["seeds"]) for row in document["rows"]),
    "report comparison": lambda document: sum(len(system["runs"]) for system in document["systems"]),
    "report cost": lambda document: len(document["runs"]),
}
"""By command, the number of runs in its document."""


@pytest.fixture
def runs(make_run: MakeRun, tmp_path: Path) -> Path:
    devices = (Devices("CPU", 1, 1e12, 2e12),)
    cost = RunCost.of(
        [Attempt(None, devices, training_seconds=60.0, source_tokens=1000, target_tokens=900, flops=1e12)]
    )
    for row in ("base", "a_h1"):
        for seed in (1, 2):
            make_run(row, seed=seed, nll=2.0 + seed / 100, cost=cost)
    return tmp_path / "runs"


@pytest.mark.parametrize("line", WITHOUT_RUNS)
def test_a_document_is_the_only_output(aiayn: CommandLine, tmp_path: Path, line: str) -> None:
    (tmp_path / "runs").mkdir(exist_ok=True)
    said = aiayn(*line.split(), "format=json")
    assert (said.code, said.err) == (0, "")
    read_document(said.out)


@pytest.mark.parametrize("line", WITH_RUNS)
def test_documents_of_runs(aiayn: CommandLine, runs: Path, line: str) -> None:
    said = aiayn(*line.split(), "format=json")
    assert said.code == 0, said.err
    document = read_document(said.out)
    if line != "status":
        assert aiayn(*line.split(), "output=there.json").code == 0
        assert Path("there.json").read_text() == said.out, "output= writes the same document"
    assert WITH_RUNS[line](document) == 4


def test_a_run_is_told_by_its_record_and_numbers_are_not_rounded(aiayn: CommandLine, runs: Path) -> None:
    (run,) = runs.glob("table3/base/*seed1*")
    document = read_document(aiayn("report", "run", f"run={run}", "format=json").out)
    assert document["record"]["experiment"] == "table3/base"
    assert document["paper"]["ppl"] == 4.92
    document = read_document(aiayn("status", "format=json").out)
    assert document["counts"] == {"finished": 4}
    assert all(len(str(run["scores"]["dev"]["ppl"])) > 8 for run in document["runs"])


def test_a_mistake_prints_no_document(aiayn: CommandLine) -> None:
    said = aiayn("report", "cost", "format=json")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)


@pytest.mark.long
def test_the_configuration_lists_groups_and_ranges(aiayn: CommandLine) -> None:
    document = read_document(aiayn("report", "configuration", "format=json").out)
    train = next(each for each in document["commands"] if each["verb"] == "train")
    groups = {each["group"]: each for each in train["groups"]}
    assert "nano" in [each["option"] for each in groups["scale"]["options"]]
    (dropout,) = (each for each in train["keys"] if each["key"] == "model.dropout" and each["only_with"] is None)
    assert dropout["range"] == {"least": 0, "most": None, "above": None, "below": 1}


def test_a_document_with_an_unknown_key_is_refused(aiayn: CommandLine, runs: Path) -> None:
    document = read_document(aiayn("report", "table3", "format=json").out)
    assert runs.is_dir()
    places: list[list[str | int]] = [[], ["rows", 0], ["code", 0]]
    for place in places:
        changed = copy.deepcopy(document)
        part: Any = changed
        for step in place:
            part = part[step]
        part["surprise"] = 1
        assert problems(changed)


def test_every_key_of_every_schema_is_explained() -> None:
    for name, schema in SCHEMAS.items():
        for key, entry in keys_of(schema):
            assert str(entry.get("description", "")).endswith((".", ")")), (name, key)


def keys_of(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The keys of an object's schema and of those inside it."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type") in ("object", None):
            yield from schema["properties"].items()
        for value in schema.values():
            yield from keys_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from keys_of(value)


def test_documents_have_the_names_that_the_page_states() -> None:
    """The name of a verb or noun; the page lists all others."""
    page = (Path(__file__).parents[3] / "docs" / "json.md").read_text()
    names = SCHEMAS.keys()
    assert all(re.fullmatch(rf"aiayn/{name}/\d+", SCHEMAS[name]["title"]) for name in names)
    assert all(SCHEMAS[name]["title"] == SCHEMAS[name]["properties"]["schema"]["const"] for name in names)
    assert "`aiayn/<verb or report noun>/<number>`" in page
    verbs = {verb for verb, command in COMMANDS.items() if command.has_json}
    regular = {*verbs, *COMMANDS["report"].nouns} - {"report", "train", "page"}
    assert regular <= names
    stated = {name for name in names if f"`{SCHEMAS[name]['title']}`" in page}
    assert len(stated) == len(re.findall(r"`aiayn/[\w-]+/\d+`", page)), "each of its present version"
    assert stated <= names
    assert names - regular <= stated
    assert all(str(SCHEMAS[name]["description"]).endswith(".") for name in names)
    assert all(f"aiayn {verb}" in page for verb in verbs)
