"""`aiayn plan`: costs of runs that are not there yet, and nothing else."""

from functools import cache
from pathlib import Path

import pytest
import torch
from commands import Say
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.commands.front_end import main
from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.extensions.costs.plan import BYTES_OF_CHECKPOINT, micro_batch, plan_run
from aiayn.extensions.costs.schema import PlanConfig
from aiayn.paper.recipe import load_recipe
from aiayn.runs.plan import Plan
from aiayn.runs.record import read_record

SPLITS = ("train", "dev", "test")
PAPER = ("scale=paper", "trainer=gpu", "trainer.devices=8")


@cache
def composed(*overrides: str) -> PlanConfig:
    return to_dataclass(compose_command("plan", overrides), PlanConfig)


def planned(*overrides: str) -> Plan:
    return plan_run(composed(*overrides), overrides=overrides)


@pytest.fixture
def here(tmp_path: Path, train: object) -> Path:
    """An empty folder, in which commands run."""
    return tmp_path


@pytest.mark.parametrize("model", ["base", "big"])
def test_the_papers_hours_are_met_within_a_third(model: str) -> None:
    hours = planned(*PAPER, f"experiment=table3/{model}").seconds / 3600
    assert hours == pytest.approx(load_recipe().training[model].hours, rel=1 / 3)


@pytest.mark.long
def test_rows_of_a_table_are_planned_and_nothing_is_written(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = "experiment=table3/base,table3/big"
    assert main(["plan", "sweeps=table3", rows, *PAPER]) == 0
    said = capfd.readouterr().out
    assert said.count("table3/") == 2
    assert "2 runs" in said
    assert said.count("data: wmt14_en_de (en-de): data set wmt/wmt14, de-en") == 1
    assert "8 x P100: 35% of 9.5 TFLOP/s" in said
    assert not list(here.iterdir())


@pytest.mark.parametrize(
    ("words", "origin"),
    [
        (["data.sentences=300"], "grammar (en-de): generated, 300 training pairs"),
        (["data=wmt14_en_fr"], "wmt14_en_fr (en-fr): data set wmt/wmt14, fr-en"),
        (
            [
                "data=text_files",
                *(f"data.{split}={{source: {split}.en, target: {split}.de}}" for split in SPLITS),
            ],
            "text_files (en-de): train.en and train.de",
        ),
    ],
)
def test_a_plan_names_the_corpus(words: list[str], origin: str) -> None:
    assert planned("scale=demo", *words).data == origin


@pytest.mark.long
def test_a_job_that_is_asked_for_twice_is_planned_twice(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each gets a copy of the configuration that was composed to be checked."""
    assert main(["plan", "-m", "seed=1,1"]) == 0
    assert capfd.readouterr().out.count("table3/base") == 2


@pytest.mark.long
def test_with_patience_the_steps_are_an_upper_bound(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    remark = "steps: with optimization.patience, the largest number"
    for words, is_said in (((), False), (("optimization.patience=3",), True)):
        assert main(["plan", *PAPER, *words]) == 0
        assert (remark in capfd.readouterr().out) == is_said
    assert planned(*PAPER, "optimization.patience=3").seconds == planned(*PAPER).seconds


def test_devices_share_the_work_and_the_memory() -> None:
    big = ("experiment=table3/big", "hardware.memory_gib=12")
    one, eight = planned(*PAPER[:2], *big), planned(*PAPER, *big)
    assert eight.seconds == pytest.approx(one.seconds / 8)
    assert eight.device_seconds == pytest.approx(one.device_seconds)
    assert (eight.flops, eight.parameters, eight.disk) == (one.flops, one.parameters, one.disk)
    assert one.memory > 2 * eight.memory
    assert not one.fits
    assert eight.fits


def test_several_nodes_count() -> None:
    assert planned(*PAPER, "trainer.num_nodes=4").devices == 32


@settings(max_examples=25)
@given(tokens=st.integers(1, 60_000), most=st.integers(1, 30_000), devices=st.integers(1, 16))
def test_micro_batches_hold_the_step_and_fit_the_device(tokens: int, most: int, devices: int) -> None:
    config = composed()
    config.optimization.source_tokens, config.optimization.target_tokens = tokens, max(1, tokens // 2)
    config.optimization.max_tokens_per_device = most
    micro = micro_batch(config, devices=devices)
    assert micro.target_tokens <= micro.source_tokens <= most
    assert micro.source_tokens * micro.count * devices >= tokens


def test_a_run_is_what_was_planned(trained_run: Path, tiny: tuple[str, ...]) -> None:
    plan, record = planned(*tiny, "logger=none"), read_record(trained_run / "run.json")
    assert plan.steps == record.steps
    assert plan.parameters == record.parameters
    # A step is planned full; the corpus fills it as far as whole sentences go.
    assert record.flops is not None
    assert 0.5 < record.flops / plan.flops <= 1
    checkpoint = trained_run / "checkpoints" / "step-0000012.ckpt"
    assert BYTES_OF_CHECKPOINT * plan.parameters == pytest.approx(checkpoint.stat().st_size, rel=0.3)
    kept = len([file for file in checkpoint.parent.iterdir() if file.name != "step-0000001.ckpt"])
    assert plan.disk == BYTES_OF_CHECKPOINT * plan.parameters * (kept + 1)


@pytest.mark.long
def test_this_machine_is_measured(here: Path, tiny: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    measured = ("hardware=here", "hardware.calibration_seconds=0.2", "logger=none")
    torch.manual_seed(0)
    assert main(["plan", *tiny, *measured]) == 0
    said = capfd.readouterr()
    assert "1 x this machine: measured for 0.2 s a model" in said.out
    assert "measuring" in said.err
    short, long = (planned(*tiny, *measured, f"optimization.max_steps={steps}") for steps in (100, 1000))
    assert 0 < 10 * short.seconds == pytest.approx(long.seconds)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["hardware.peak_flops=0"], "hardware.peak_flops=0.0: must be greater than 0, or null"),
        (["hardware.utilization=null"], "hardware.utilization=null: state a number above 0, or measure with"),
        (["trainer=gpu", "hardware=here"], "trainer.accelerator=gpu: no GPU here to measure on; name one, as in"),
        (["hardware=h300"], "hardware=h300: no such option; did you mean h"),
        (["model.num_heads=7"], "model.num_heads=7 does not divide"),
    ],
)
def test_mistakes_are_one_line(say: Say, tmp_path: Path, words: list[str], answer: str) -> None:
    if "hardware=here" in words and torch.cuda.is_available():
        pytest.skip("there is a GPU to measure on")
    assert say("plan", *words).refuses_by(answer)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_a_mistake_that_all_jobs_share_is_told_once(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "sweeps=table3_e", "model.num_heads=7"]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.count("model.num_heads=7 does not divide") == 1
    assert said.err.endswith("aiayn: 2 of 2 jobs cannot be planned\n")
