"""Commands on a run directory that was damaged, or is another's: one line, and nothing else changes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import Finished
from run_files import copied_run

from aiayn.commands.front_end import main

Damage = Callable[[Path], None]

LAST = "checkpoints/step-0000012.ckpt"


def torn(run: Path) -> None:
    path = run / LAST
    path.write_bytes(path.read_bytes()[:1000])


def all_torn(run: Path) -> None:
    for path in (run / "checkpoints").iterdir():
        path.write_bytes(path.read_bytes()[:-1])


def emptied(run: Path) -> None:
    (run / LAST).write_bytes(b"")


def reshaped(run: Path) -> None:
    content = torch.load(run / LAST, weights_only=True)
    content["state_dict"] = {name: torch.cat([value, value]) for name, value in content["state_dict"].items()}
    torch.save(content, run / LAST)


def foreign(run: Path) -> None:
    torch.save({"state_dict": {}}, run / LAST)


def of_another_run(run: Path) -> None:
    content = torch.load(run / LAST, weights_only=True)
    content["aiayn"]["provenance"]["config_hash"] = "0"
    torch.save(content, run / LAST)


def edited(change: Callable[[dict[str, Any]], object]) -> Damage:
    def edit(run: Path) -> None:
        content = torch.load(run / LAST, weights_only=True)
        change(content)
        torch.save(content, run / LAST)

    return edit


def each_weight(change: Callable[[torch.Tensor], object]) -> Damage:
    return edited(
        lambda content: content["state_dict"].update({k: change(v) for k, v in content["state_dict"].items()})
    )


def with_code(run: Path) -> None:
    content = torch.load(run / LAST, weights_only=True)
    torch.save({**content, "code": Damage}, run / LAST)


def without_checkpoints(run: Path) -> None:
    shutil.rmtree(run / "checkpoints")


def record(**changes: Any) -> Damage:
    def change(run: Path) -> None:
        path = run / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def replaced(name: str, content: bytes) -> Damage:
    def replace(run: Path) -> None:
        (run / name).write_bytes(content)

    return replace


def without_configuration(run: Path) -> None:
    (run / "config.yaml").unlink()


EVALUATED: dict[str, tuple[Damage, str]] = {
    "a truncated checkpoint": (torn, f"{{run}}/{LAST}: not a readable checkpoint ("),
    "an empty checkpoint": (emptied, f"{{run}}/{LAST}: not a readable checkpoint ("),
    "another program's checkpoint": (foreign, f"{{run}}/{LAST}: not a checkpoint of this program"),
    "a checkpoint of another shape": (reshaped, f"checkpoint={{run}}/{LAST}: its weights do not fit this model ("),
    "another run's checkpoint": (of_another_run, f"{{run}}/{LAST}: a checkpoint of another run (config_hash 0, not "),
    "a checkpoint with code": (with_code, f"{{run}}/{LAST}: not a checkpoint of this program: it holds more than "),
    "a checkpoint whose provenance is a list": (
        edited(lambda content: content["aiayn"].update(provenance=["x"])),
        f"{{run}}/{LAST}: not a checkpoint of this program (aiayn.provenance is no mapping of texts)",
    ),
    "a checkpoint of text": (each_weight(str), f"{{run}}/{LAST}: not a checkpoint of this program (state_dict.model."),
    "a checkpoint of integers": (
        each_weight(torch.Tensor.long),
        f"checkpoint={{run}}/{LAST}: its weights do not fit this model (embedding.weight is of torch.int64, and ",
    ),
    "no checkpoint": (
        without_checkpoints,
        "{run}: has neither checkpoints/ nor model.safetensors; restore or fetch them",
    ),
    "a record that is no JSON": (replaced("run.json", b"{"), "{run}/run.json: not JSON ("),
    "a record that is no text": (replaced("run.json", b"\xff"), "{run}/run.json: not text in UTF-8 ("),
    "a record of a later version": (record(schema_version=99), "{run}/run.json: schema_version=99: this aiayn reads"),
    "a record with another field": (record(speed=1), "{run}/run.json: speed is no key of this version"),
    "other data": (record(data_fingerprint="0"), "run={run}: trained on data 0, but the corpus now gives "),
    "no configuration": (without_configuration, "{run}/config.yaml: no such file"),
    "a configuration that is no YAML": (replaced("config.yaml", b"a: ["), "{run}/config.yaml: not a configuration"),
    "another version's configuration": (replaced("config.yaml", b"data: {kind: x}"), "{run}/config.yaml: not a con"),
}

RESUMED: dict[str, tuple[Damage, str]] = {
    "no checkpoint that is whole": (all_torn, f"{{run}}/{LAST}: not a readable checkpoint ("),
    "another run's checkpoint": (of_another_run, f"{{run}}/{LAST}: a checkpoint of another run (config_hash 0, not "),
    "an optimizer of another model": (
        edited(lambda content: content["optimizer_states"][0]["state"][0].update(exp_avg=torch.ones(3))),
        f"{{run}}/{LAST}: training cannot resume from this checkpoint (ValueError: the optimizer's exp_avg of ",
    ),
    "an optimizer without a moment": (
        edited(lambda content: content["optimizer_states"][0]["state"][0].pop("exp_avg")),
        f"{{run}}/{LAST}: training cannot resume from this checkpoint (ValueError: the optimizer's exp_avg of ",
    ),
    "an optimizer whose learning rate is text": (
        edited(lambda content: content["optimizer_states"][0]["param_groups"][0].update(lr="x")),
        f"{{run}}/{LAST}: training cannot resume from this checkpoint (ValueError: the optimizer's setting lr is ",
    ),
    "no schedule of the learning rate": (
        edited(lambda content: content.update(lr_schedulers=[])),
        f"{{run}}/{LAST}: training cannot resume from this checkpoint (ValueError: global_step is not the step of ",
    ),
    "weights without numbers": (
        each_weight(lambda weight: weight.to("meta")),
        f"{{run}}/{LAST}: not a checkpoint of this program (state_dict.model.embedding.weight is no tensor of ",
    ),
    "loops that are none": (
        edited(lambda content: content.update(loops=[])),
        f"{{run}}/{LAST}: training cannot resume from this checkpoint (TypeError: ",
    ),
    "a callback's state that is none": (
        edited(lambda content: content.update(callbacks=dict.fromkeys(content["callbacks"], "x"))),
        f"{{run}}/{LAST}: training cannot resume from this checkpoint (AttributeError: ",
    ),
    "another configuration's record": (record(config_hash="0"), "{run}: holds run 0, not "),
    "other data": (record(data_fingerprint="0"), "{run}: begun on data 0, but the corpus now gives "),
}


Refused = Callable[..., str]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def intact(finished: Finished, tiny: tuple[str, ...]) -> tuple[list[str], Path]:
    """A command of a tiny run that was done, and the run."""
    return ["train", *tiny, "logger=none"], finished()


@pytest.fixture
def copied(intact: tuple[list[str], Path], tmp_path: Path) -> Path:
    """A copy of that run."""
    copy = copied_run(intact[1], tmp_path / "runs")
    (copy / "checkpoints" / "step-0000001.ckpt").unlink(missing_ok=True)  # of the fixture trained_run
    return copy


def check(said: str, answer: str, run: Path) -> None:
    assert said.splitlines()[-1].startswith(f"aiayn: {answer.format(run=run)}")
    assert "Traceback" not in said


@pytest.mark.parametrize("name", EVALUATED)
def test_a_damaged_run_is_not_evaluated(copied: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    damage, answer = EVALUATED[name]
    damage(copied)
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["evaluate", f"run={copied}"]) == 2
    check(capsys.readouterr().err, answer, copied)
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", RESUMED)
def test_a_damaged_run_is_not_gone_on_with(
    intact: tuple[list[str], Path], copied: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damage, answer = RESUMED[name]
    record(status="interrupted")(copied)
    damage(copied)
    before = (copied / "run.json").read_bytes()
    capsys.readouterr()
    assert main([*intact[0], f"paths.runs={copied.parents[2]}"]) == 2
    check(capsys.readouterr().err, answer, copied)
    assert (name == "other data") or (copied / "run.json").read_bytes() == before


@pytest.mark.parametrize("name", ["a truncated checkpoint", "another run's checkpoint"])
def test_weights_of_a_damaged_run_start_no_other(
    intact: tuple[list[str], Path], copied: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damage, answer = EVALUATED[name]
    damage(copied)
    capsys.readouterr()
    assert main([*intact[0], f"init_from={copied}", f"paths.runs={tmp_path / 'new'}"]) == 2
    check(capsys.readouterr().err, f"init_from={answer}", copied)
    assert not list(tmp_path.glob("new/**/run.json"))


def test_scores_that_cannot_be_read_are_replaced(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = copied.glob("evaluations/*/scores.json")
    path.write_text("{")
    capsys.readouterr()
    assert main(["evaluate", f"run={copied}", "splits=[dev]"]) == 0
    assert f"{path}: not JSON (" in capsys.readouterr().err
    assert list(json.loads(path.read_text())) == ["dev"]


REPORTED: dict[str, tuple[str, bytes, list[str], str]] = {
    "sentences that are lost": ("evaluations/*/dev.sentences.jsonl", b"", ["comparison"], "0 lines where "),
    "another configuration": ("config.yaml", b"a: 1", ["comparison"], "not the configuration of a run ("),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_damaged_run_is_not_reported(copied: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    pattern, content, words, answer = REPORTED[name]
    (path,) = copied.glob(pattern)
    path.write_bytes(content)
    capsys.readouterr()
    assert main(["report", *words, f"paths.runs={copied.parents[2]}"]) == 2
    named, refusal = capsys.readouterr().err.splitlines()
    assert named.startswith(f"left out: {path}: {answer}")
    assert refusal.startswith("aiayn: no finished run")


def test_table3_leaves_a_damaged_run_out_and_names_its_file(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = copied.glob("evaluations/*/dev.sentences.jsonl")
    path.write_bytes(b"\xff")
    capsys.readouterr()
    assert main(["report", "table3", f"paths.runs={copied.parents[2]}"]) == 0
    (remark,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("left out: "))
    assert remark.startswith(f"left out: {path}: not text in UTF-8 (")
