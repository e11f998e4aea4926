"""A record reads back as what was written; anything else is refused in one line that names the file."""

import dataclasses
import json
import math
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from example_record import example_record
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.config.command_schema import View
from aiayn.errors import UserError
from aiayn.evaluation.score import Score
from aiayn.reports.run_facts import machines
from aiayn.reports.status import print_status
from aiayn.runs.cost import Attempt, Basis, Devices, RunCost
from aiayn.runs.ledger import State, read_ledger
from aiayn.runs.provenance import Origin
from aiayn.runs.record import (
    SCHEMA_VERSION,
    Record,
    RecordedBrackets,
    SplitScores,
    Status,
    check_translations,
    read_record,
)
from aiayn.system.files import is_inside

text = st.text(max_size=8)
inside = st.lists(text.filter(lambda part: is_inside(part) and "/" not in part), min_size=1, max_size=3).map("/".join)
number = st.floats(allow_nan=False, allow_infinity=False)
count = st.integers(0, 2**60)
signed_scores = st.builds(Score, score=number, signature=text)
brackets = st.builds(
    RecordedBrackets,
    f1=number,
    precision=number,
    recall=number,
    exact_match=number,
    tagging_accuracy=st.none() | number,
    well_formed=number,
    signature=text,
)
of_translations: dict[str, Any] = {
    "bleu": signed_scores,
    "chrf": signed_scores,
    "matrix": st.dictionaries(text, signed_scores, max_size=2),
}
of_trees: dict[str, Any] = {"bleu": st.none(), "chrf": st.none(), "brackets": brackets}
whatever_the_task: dict[str, Any] = {
    "ppl": st.floats(min_value=1),  # infinity is what a useless model has
    "sentences": count,
    "checkpoint_step": count,
    "seconds": number,
    "hypotheses": inside,
    "averaged_steps": st.lists(count, max_size=3).map(tuple),
}
scores = st.builds(SplitScores, **whatever_the_task, **of_translations) | st.builds(
    SplitScores, **whatever_the_task, **of_trees
)
records = st.builds(
    Record,
    schema_version=st.just(SCHEMA_VERSION),
    name=inside,
    seed=count,
    hardware=st.fixed_dictionaries({}, optional={"cores": st.none() | count, "gpus": st.lists(text, max_size=2)}),
    scores=st.dictionaries(st.sampled_from(["dev", "test"]), scores),
    data_counts=st.dictionaries(text, st.dictionaries(text, count, max_size=2), max_size=2),
    versions=st.dictionaries(text, text, max_size=3),
    status=st.sampled_from(Status),
    seconds=number,
    tokens_per_second=st.none() | number,
    flops=st.none() | number,
)


def a_record() -> Record:
    signed = Score(score=25.8, signature="nrefs:1")
    dev = SplitScores(
        ppl=4.9, bleu=signed, chrf=signed, sentences=3, checkpoint_step=9, seconds=1.5, hypotheses="dev.txt"
    )
    return example_record(scores={"dev": dev})


def refusal(content: bytes) -> str:
    """The message with which a record is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        path.write_bytes(content)
        with pytest.raises(UserError) as error:
            read_record(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


@given(records)
def test_writing_and_reading_is_the_identity(record: Record) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        record.write(path)
        assert read_record(path) == record


def test_a_record_is_json_with_any_numbers(tmp_path: Path) -> None:
    record = a_record()
    record.scores["dev"] = dataclasses.replace(record.scores["dev"], ppl=math.inf)
    record.write(tmp_path / "run.json")
    content = json.loads((tmp_path / "run.json").read_text(), parse_constant=pytest.fail)
    assert content["scores"]["dev"]["ppl"] is None
    assert read_record(tmp_path / "run.json") == record


@given(st.data())
def test_a_truncated_record_is_refused(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        a_record().write(path)
        content = path.read_bytes().rstrip()
    cut = data.draw(st.integers(0, len(content) - 1))
    assert refusal(content[:cut]).startswith("not JSON (")


@pytest.mark.parametrize("content", [b"[]", b"null", b"3", b'"text"', b"{}", b"\xff\xfe", b"\x00"])
def test_other_files_are_refused(content: bytes) -> None:
    assert refusal(content)


@given(st.none() | st.integers(-9, 99).filter(lambda version: version != SCHEMA_VERSION))
def test_another_version_is_named(version: object) -> None:
    content = {**dataclasses.asdict(a_record()), "schema_version": version}
    assert refusal(json.dumps(content).encode()).startswith(f"schema_version={version}: ")


DEV = dataclasses.asdict(a_record())["scores"]["dev"]
NO_SCORES: list[object] = [[], None, 3, "text", {"dev": None}]
NO_SCORES += [{"dev": DEV | {"bleu": {"score": 1.0}}}, {"dev": DEV | {"bleu": 25.8}}]


@pytest.mark.parametrize(
    ("key", "value"), [("colour", "red"), ("status", "sleeping"), *(("scores", each) for each in NO_SCORES)]
)
def test_a_record_of_another_shape_is_refused(key: str, value: object) -> None:
    content = dataclasses.asdict(a_record()) | {key: value}
    assert refusal(json.dumps(content).encode()).startswith(key)


def test_a_record_without_a_field_is_refused() -> None:
    content = dataclasses.asdict(a_record())
    del content["seed"]
    assert refusal(json.dumps(content).encode()) == "seed is missing; restore the file"


def places(content: Any) -> list[tuple[Any, Any]]:
    """Every container below a plain value with each of its keys."""
    keys = content if isinstance(content, dict) else range(len(content) if isinstance(content, list) else 0)
    return [place for key in keys for place in ((content, key), *places(content[key]))]


OTHERS: list[Any] = [None, True, 7, -1, 1.5, "text", "", [], {}, [1], {"a": 1}, [[]], {"a": {"b": None}}]
OTHERS_IN_JSON = [*("9" * count for count in (19, 400, 5000)), "1e999", "NaN", "-Infinity", 60_000 * "["]
OTHERS_IN_JSON += ['{"a": 1, "a": 2}', '"\\ud800"']


@settings(max_examples=150)
@given(st.data())
def test_a_record_with_another_value_anywhere_is_read_or_refused_in_one_line_and_listed(data: st.DataObject) -> None:
    attempt = Attempt("2026-01-01T00:00:00+00:00", (Devices("CPU", 1, 1e9, 1e9, Basis.measured),), training_seconds=9.0)
    record = a_record()
    record.cost, record.hardware = RunCost.of([attempt]), {"processor": "CPU", "cores": 2, "gpus": ["H100"]}
    record.earlier = [Origin("a" * 40, False, None, None, "32-true", None)]
    content = dataclasses.asdict(record)
    container, key = data.draw(st.sampled_from(places(content)))
    container[key] = "THERE"
    other = data.draw(st.sampled_from(OTHERS).map(json.dumps) | st.sampled_from(OTHERS_IN_JSON))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        path.write_text(json.dumps(content, default=str).replace('"THERE"', other))
        (entry,) = read_ledger(Path(folder))
        assert (entry.state is State.unreadable) == (entry.record is None)
        if entry.record is None:
            assert re.fullmatch(rf"{re.escape(str(path))}: .+", entry.message or "")
            return
        assert read_record(path) == entry.record
        for view in View:
            print_status(Path(folder), view)
        assert list(machines([entry.record])) is not None
        assert dataclasses.asdict(entry.record.account.total)


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"run\.json: no such file; is .* a run directory\?$"):
        read_record(tmp_path / "run.json")


def test_trees_are_scored_by_their_brackets_and_never_as_translations() -> None:
    brackets = RecordedBrackets(88.0, 90.0, 86.1, 30.0, None, 97.5, "evalb")
    translation = a_record().scores["dev"]
    trees = dataclasses.replace(translation, bleu=None, chrf=None, brackets=brackets)
    assert trees.quality == Score(88.0, "evalb")
    assert list(trees.shown) == ["F1", "precision", "recall", "exact match", "well-formed"]
    assert list(trees.by_definition) == ["f1", "precision", "recall", "exact_match", "well_formed"]
    assert not trees.shown.keys() & translation.shown.keys()
    check_translations(translation, place="run=a")
    with pytest.raises(UserError, match=r"^run=a: its outputs are trees, scored by F1; name a translation's run$"):
        check_translations(trees, place="run=a")


@pytest.mark.parametrize("path", ["../x.txt", "a/../../x.txt", "/x.txt", "a\0b", "", ".."])
@pytest.mark.parametrize("key", ["name", "patch", "packages", "hypotheses"])
def test_a_path_that_leads_out_of_the_run_is_refused_when_read(path: str, key: str, tmp_path: Path) -> None:
    content: Any = dataclasses.asdict(a_record())
    (content["scores"]["dev"] if key == "hypotheses" else content)[key] = path
    (tmp_path / "run.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=rf"run\.json: .*{key}=.*; restore the file$"):
        read_record(tmp_path / "run.json")


def test_scores_are_of_a_split(tmp_path: Path) -> None:
    content = dataclasses.asdict(a_record())
    content["scores"]["../dev"] = content["scores"]["dev"]
    (tmp_path / "run.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"run\.json: scores of '\.\./dev', which is none of train, dev, test"):
        read_record(tmp_path / "run.json")
