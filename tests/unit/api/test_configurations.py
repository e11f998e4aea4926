"""A program composes what the command line composes, and is refused with the same line."""

import dataclasses
from pathlib import Path

import pytest
import yaml
from hydra.core.global_hydra import GlobalHydra
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aiayn
from aiayn.api.configurations import ComposedConfig
from aiayn.commands.front_end import main
from aiayn.config.freeze import plain
from aiayn.config.hydra_versions import initialized
from aiayn.config.store import options

MISTAKES = (
    "model.hads=3",
    "model.dropout=1.5",
    "experiment=table3/a_h3",
    "identity.name=mine",
    "hydra.run.dir=there",
    "optimization.max_steps=many",
    "model.num_heads=1,2",
    "model.num_heads",
)


WORDS = st.tuples(
    st.sampled_from([f"experiment={name}" for name in options("experiment") if name.startswith("table")]),
    st.sampled_from([f"scale={name}" for name in options("scale")]),
    st.integers(1, 9).map("seed={}".format),
    st.floats(0, 0.9).map("model.dropout={}".format),
)


@pytest.mark.slow
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=WORDS)
def test_a_program_composes_as_the_command_line(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    code = main(["train", *words, "--cfg", "job", "--resolve"])
    said = capsys.readouterr()
    if code == 0:
        assert yaml.safe_load(said.out) == plain(aiayn.compose(words))
    else:  # a row of heads that do not divide the width at this scale
        with pytest.raises(aiayn.UserError) as refused:
            aiayn.compose(words)
        assert said.err == f"aiayn: {refused.value}\n"


@pytest.mark.parametrize("word", MISTAKES)
def test_a_mistake_has_the_command_lines_words(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(aiayn.UserError) as refused:
        aiayn.compose([word])
    assert main(["train", word, "--cfg", "job"]) == 2
    assert capsys.readouterr().err == f"aiayn: {refused.value}\n"


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        ("scale=nano", "overrides='scale=nano': must be a list"),
        ([3], "overrides: 3 is no text"),
        (["seed=1", "data.name=\ud800"], r"overrides\[1\]='data.name=\\ud800': has half a character at 10"),
        (["--multirun"], "--multirun: flags are for the command line"),
        (["sweeps=table3"], "sweeps=table3: has many runs"),
    ],
)
def test_what_is_not_one_run_is_refused(overrides: list[str], complaint: str) -> None:
    with pytest.raises(aiayn.UserError, match=f"^{complaint}"):
        aiayn.compose(overrides)


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    row = tmp_path / "experiment" / "mine.yaml"
    row.parent.mkdir()
    row.write_text("# @package _global_\nmodel:\n  num_heads: 2\n")
    assert aiayn.compose(["experiment=mine"], config_dir=tmp_path).identity.experiment == "mine"
    with pytest.raises(aiayn.UserError, match="no such folder"):
        aiayn.compose(config_dir=tmp_path / "missing")
    for call in (aiayn.compose, aiayn.plan, aiayn.train, aiayn.train_sweep):
        with pytest.raises(aiayn.UserError, match=r"^config_dir=3: must be the path of a folder"):
            call(["seed=1"], config_dir=3)  # type: ignore[arg-type]
    with pytest.raises(aiayn.UserError, match=r"^config_dir=/nope: aiayn\.compose has stated"):
        aiayn.plan(aiayn.compose(["scale=nano"]), config_dir="/nope")


def test_composing_leaves_the_hydra_of_the_program_alone() -> None:
    with initialized():
        own = GlobalHydra.instance().hydra
        aiayn.compose()
        assert GlobalHydra.instance().hydra is own


def test_a_plan_is_of_the_configuration() -> None:
    config = aiayn.compose(["scale=nano", "optimization.max_steps=70"])
    there = aiayn.plan(["scale=nano", "optimization.max_steps=70", "hardware=h100"])
    assert (there.steps, there.experiment) == (config.optimization.max_steps, config.identity.experiment)
    assert aiayn.plan(config).flops == there.flops


def test_only_an_unchanged_configuration_is_taken() -> None:
    """Its identity, and the command in its record, would be those of another run."""
    config = aiayn.compose(["scale=nano"])
    config.optimization.max_steps += 1
    with pytest.raises(aiayn.UserError, match="was changed"):
        aiayn.train(config)
    copy = dataclasses.replace(aiayn.compose(["scale=nano"]), seed=2)
    assert isinstance(copy, ComposedConfig)
    with pytest.raises(aiayn.UserError, match="was not made by"):
        aiayn.plan(copy)
