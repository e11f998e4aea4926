"""Runs keep what they average, average it at their end, and `aiayn average` does so afterwards."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from commands import Finished, Train, signal_at
from run_files import assert_same_end, only_run
from safetensors.torch import load_file

from aiayn.commands.front_end import main
from aiayn.config.freeze import load_config
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import read_record

AVERAGED = ("experiment=positions/none", "averaging.checkpoints=3", "averaging.interval=2")
"""Weights of steps 8, 10 and 12."""

NAME = "average-of3-0000008-0000012"


def weights_of(path: Path) -> dict[str, torch.Tensor]:
    weights: dict[str, torch.Tensor] = torch.load(path, weights_only=True)["state_dict"]
    return weights


@pytest.fixture(scope="module")
def averaged(finished: Finished) -> Path:
    """A finished run that averages, which tests only read."""
    return finished(*AVERAGED)


@pytest.fixture
def copied(averaged: Path, tmp_path: Path) -> Path:
    return shutil.copytree(averaged, tmp_path / "copied")


def test_a_run_scores_its_average_and_keeps_what_it_is_of(averaged: Path) -> None:
    checkpoints = averaged / "checkpoints"
    assert sorted(path.name for path in checkpoints.glob("[aw]*")) == [
        f"{NAME}.ckpt",
        *(f"weights-{step:07d}.ckpt" for step in (8, 10, 12)),
    ]
    parts = [weights_of(checkpoints / f"weights-{step:07d}.ckpt") for step in (8, 10, 12)]
    for name, mean in weights_of(checkpoints / f"{NAME}.ckpt").items():
        first, second, third = (part[name].double() for part in parts)
        assert torch.equal(mean, ((first + second + third) / 3).float())
    assert all(torch.equal(weights_of(checkpoints / "step-0000012.ckpt")[name], parts[-1][name]) for name in parts[-1])
    scores = read_record(averaged / "run.json").scores
    assert {each.averaged_steps for each in scores.values()} == {(8, 10, 12)}
    assert {each.checkpoint_step for each in scores.values()} == {12}
    of_average, of_last = (
        json.loads(next(averaged.glob(f"evaluations/{kind}-*/scores.json")).read_text()) for kind in ("average", "step")
    )
    for split in ("dev", "test"):
        assert of_average[split]["ppl"] == scores[split].ppl != of_last[split]["ppl"]
        assert of_last[split]["averaged_steps"] == []


def test_evaluating_the_average_gives_the_records_scores(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = read_record(copied / "run.json").scores["dev"]
    shutil.rmtree(copied / "evaluations")
    assert main(["evaluate", f"run={copied}", "checkpoint=average", "splits=dev"]) == 0
    assert "12, mean of 3" in capsys.readouterr().out
    (found,) = copied.glob(f"evaluations/{NAME}-*/scores.json")
    again = json.loads(found.read_text())["dev"]
    assert (again["ppl"], again["averaged_steps"]) == (recorded.ppl, [8, 10, 12])
    assert main(["report", "matrix", f"run={found.parent}"]) == 0
    assert f"run: {found.parent}, step 12, mean of 3; data " in capsys.readouterr().out
    assert main(["compare", f"run={copied}", f"against={found.parent}", "split=dev", "paths.cache=nowhere"]) == 0
    assert f"B: positions/none, seed 1, step 12, mean of 3: {found.parent}" in capsys.readouterr().out


def test_an_average_can_be_used_like_any_checkpoint(copied: Path, tmp_path: Path) -> None:
    output = tmp_path / "weights.safetensors"
    assert main(["export", f"run={copied}", "checkpoint=average", "format=safetensors", f"output={output}"]) == 0
    average = weights_of(copied / "checkpoints" / f"{NAME}.ckpt")
    exported = load_file(output)
    assert {f"model.{name}" for name in exported} == set(average)
    assert all(torch.equal(weight, average[f"model.{name}"]) for name, weight in exported.items())


def test_averaging_again_writes_the_same(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (copied / "checkpoints" / f"{NAME}.ckpt").read_bytes()
    for words in ([], ["last=3"], ["steps=[12,8,10]"]):
        assert main(["average", f"run={copied}", *words]) == 0
        assert (
            capsys.readouterr().out
            == f"{copied}/checkpoints/{NAME}.ckpt: average of the checkpoints at steps 8, 10, 12\n"
        )
    assert (copied / "checkpoints" / f"{NAME}.ckpt").read_bytes() == before
    assert list(RunDirectory(copied).averages()) == [NAME]


def test_of_several_averages_one_is_named(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["average", f"run={copied}", "steps=[8,9,12]"]) == 0
    (other,) = set(RunDirectory(copied).averages()) - {NAME}
    assert f"{other}.ckpt: average of the checkpoints at steps 8, 9, 12" in capsys.readouterr().out
    words = ["evaluate", f"run={copied}", "splits=dev", "decoding.limit_sentences=1"]
    assert main([*words, "checkpoint=average"]) == 2
    said = capsys.readouterr().err
    assert all(text in said for text in ("state one by its name: ", f" {NAME}", f" {other}"))
    assert main([*words, f"checkpoint={other}"]) == 0
    assert list(copied.glob(f"evaluations/{other}-*"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["last=4"], "last=4: "),
        (["last=0"], "last=0: state a number of checkpoints, at least 1, or paper"),
        (["steps=[7]"], "checkpoint=7: "),
        (["steps=[a]"], "steps=['a']: must be a whole number, or a list of them, or null"),
        (["last=2", "steps=[8]"], "last=2: cannot be combined with steps=[8]; leave one out"),
        (
            ["last=paper"],
            "last=paper: section 6.1 averages base and big models, at this scale of model.d_model=128, 256",
        ),
    ],
)
def test_what_cannot_be_averaged_is_refused(
    averaged: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["average", f"run={averaged}", *words]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert complaint in said[0]


def test_a_checkpoint_of_another_run_is_refused(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copied / "checkpoints" / "weights-0000010.ckpt"
    content = torch.load(path, weights_only=True)
    content["aiayn"]["provenance"]["config_hash"] = "01234567"
    torch.save(content, path)
    assert main(["average", f"run={copied}"]) == 2
    own = load_config(copied / "config.yaml").identity.hash
    assert f"{path}: a checkpoint of another run (config_hash 01234567, not {own})" in capsys.readouterr().err


def test_a_run_that_keeps_no_weights_averages_the_checkpoints_it_has(
    trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(trained_run, tmp_path / "run")
    assert main(["evaluate", f"run={run}", "checkpoint=average"]) == 2
    assert "has none; make one: aiayn average run=" in capsys.readouterr().err
    assert main(["average", f"run={run}"]) == 2
    assert "states no averaging; state it, as in last=5" in capsys.readouterr().err
    assert main(["average", f"run={run}", "last=2"]) == 0
    said = capsys.readouterr()
    assert said.out.endswith("average-of2-0000009-0000012.ckpt: average of the checkpoints at steps 9, 12\n")
    assert "its report keeps the scores of the last checkpoint" in said.err  # the run is one of Table 3


@pytest.mark.slow
@pytest.mark.parametrize("batches", [(4, 9)])
def test_the_same_files_are_kept_however_often_a_run_is_stopped(
    train: Train, averaged: Path, tmp_path: Path, batches: tuple[int, ...]
) -> None:
    for batch in batches:
        assert train(*AVERAGED, signal_at(batch)) == 1
        run = only_run(tmp_path / "runs")
        assert list(RunDirectory(run).steps("weights")) == list(range(2, batch + 2, 2))[-3:]
        # What a kill leaves beyond the checkpoint that the run goes on from.
        shutil.copy(run / "checkpoints" / f"step-{batch + 1:07d}.ckpt", run / "checkpoints" / "weights-0000011.ckpt")
    assert train(*AVERAGED) == 0
    assert_same_end(run, averaged)
    for path in averaged.glob("checkpoints/[aw]*"):
        own, whole = (weights_of(each) for each in (run / "checkpoints" / path.name, path))
        assert all(torch.equal(own[name], whole[name]) for name in whole)
    assert {path.name for path in run.glob("checkpoints/*")} == {path.name for path in averaged.glob("checkpoints/*")}


@pytest.mark.parametrize("words", [["averaging=base"], ["averaging=big", "experiment=table3/big"]])
def test_table_3_refuses_averaging(train: Train, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert train(*words) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "Table 3 is without checkpoint averaging (section 6.2): state averaging=none" in said[0]


def test_missing_weights_end_the_run_in_one_line(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(*AVERAGED, signal_at(9)) == 1
    run = only_run(tmp_path / "runs")
    (run / "checkpoints" / "weights-0000008.ckpt").unlink()
    capsys.readouterr()
    assert train(*AVERAGED) == 2
    assert "has no weights of step 8; restore them, or start again with force=true" in capsys.readouterr().err
    assert list(run.glob("evaluations/step-0000012-*/scores.json"))
