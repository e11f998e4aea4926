"""Every file under conf/ composes, in the promised order of precedence."""

import inspect
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

import pytest
import pytorch_lightning
import yaml
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from aiayn.config.compose import compose_command
from aiayn.config.store import COMMANDS, conf_directory
from aiayn.errors import UserError

CONF = conf_directory()
GROUPS = ["experiment", "scale", "data", "tokenizer", "model", "optimization", "decoding", "fidelity", "trainer"]
GROUPS += ["fidelity_for", "averaging", "callbacks", "logger", "launch", "debug", "paths", "hardware"]
ALONE = ("experiment", "fidelity", "fidelity_for", "model")
"""Groups whose options state keys of other groups, or have keys of their own: they do not go with every option."""

OPTIONS = sorted(path for group in GROUPS for path in (CONF / group).rglob("*.yaml"))
COMPOSED_HERE = [path for path in OPTIONS if not path.is_relative_to(CONF / "experiment")]
COMPOSED_HERE += [path for path in (CONF / "experiment").rglob("*.yaml") if not path.parent.name.startswith("table")]
"""The experiments of the paper's tables are composed, and validated, by the tests of each table."""


def test_there_are_options_and_no_stray_folder() -> None:
    assert len(OPTIONS) > 40
    folders = {path.name for path in CONF.iterdir() if path.is_dir()}
    assert folders == {*GROUPS, "hydra"}


def word_of(path: Path) -> str:
    group, *rest = path.relative_to(CONF).with_suffix("").parts
    return f"{group}={'/'.join(rest)}"


def error_of(paths: Iterable[Path]) -> str | None:
    """The message with which options are refused."""
    words = [word_of(path) for path in paths]
    try:
        config = compose_command("plan" if any(word.startswith("hardware=") for word in words) else "train", words)
        return None if config.identity.hash else "no identity"
    except (UserError, HydraException, OmegaConfBaseException) as error:
        return f"{words}: {error}"


@pytest.mark.long
def test_every_option_composes() -> None:
    """A composition takes 0.2 s: options of several groups are composed together, and apart only if that fails."""
    together = [
        [path for path in COMPOSED_HERE if path.parent == CONF / group] for group in GROUPS if group not in ALONE
    ]
    packs = [[path for path in pack if path] for pack in zip_longest(*together)]
    packs += [[path] for path in COMPOSED_HERE if path.relative_to(CONF).parts[0] in ALONE]
    refused = [path for pack in packs if error_of(pack) for path in pack]
    assert [error for path in refused if (error := error_of([path]))] == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_a_file_and_composes(command: str) -> None:
    assert (CONF / f"{command}.yaml").is_file()
    assert compose_command(command)


def test_what_commands_have_in_common_with_training_is_the_same_there() -> None:
    launch = compose_command("train").launch
    for command in ("evaluate", "translate", "tune", "score", "export", "attention"):
        own = compose_command(command).launch
        assert own.items() <= launch.items(), command


def test_the_command_line_wins_over_the_experiment_and_the_experiment_over_the_scale() -> None:
    assert compose_command("train", ["scale=paper"]).model.num_heads == 8
    assert compose_command("train", ["scale=paper", "experiment=table3/a_h4"]).model.num_heads == 4
    assert compose_command("train", ["experiment=table3/a_h4", "model.num_heads=2"]).model.num_heads == 2


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], "schema"),
        (["scale=probe"], "scale"),
        (["scale=probe", "fidelity=probe"], "fidelity"),
        (["scale=probe", "fidelity=probe", "experiment=probe"], "experiment"),
        (["scale=probe", "fidelity=probe", "experiment=probe", "data.name=typed"], "typed"),
    ],
)
def test_precedence(overrides: list[str], expected: str, tmp_path: Path) -> None:
    for group in ("scale", "fidelity", "experiment"):
        (tmp_path / group).mkdir()
        text = f"# @package _global_\ndata:\n  name: {group}\n"
        if group == "scale":
            text += (CONF / "scale" / "demo.yaml").read_text().split("\nscale:\n")[1].join(["scale:\n", ""])
        (tmp_path / group / "probe.yaml").write_text(text)
    config = compose_command("train", [*overrides, f"hydra.searchpath=[file://{tmp_path}]"])
    assert config.data.name == (expected if expected != "schema" else "grammar")


def test_the_scale_names_the_default_corpus_and_data_overrides_it() -> None:
    corpora = {
        scale: compose_command("train", [f"scale={scale}"]).data.name for scale in ("demo", "nano", "small", "paper")
    }
    assert corpora == {"demo": "grammar", "nano": "grammar", "small": "multi30k", "paper": "wmt14_en_de"}
    assert compose_command("train", ["scale=paper", "data=grammar"]).data.name == "grammar"


def test_every_argument_that_is_listed_is_one_of_lightnings_trainer() -> None:
    listed = set(yaml.safe_load((CONF / "trainer" / "auto.yaml").read_text())) - {"_target_"}
    assert listed <= set(inspect.signature(pytorch_lightning.Trainer.__init__).parameters)


def test_heads_width_steps_and_warmup_scale_but_heads_and_dropout_do_not() -> None:
    paper, small = (compose_command("train", [f"scale={scale}"]) for scale in ("paper", "small"))
    assert small.model.d_model == paper.model.d_model * small.scale.width
    assert small.model.num_layers == paper.model.num_layers * small.scale.depth
    assert small.optimization.max_steps == paper.optimization.max_steps * small.scale.steps
    assert (small.model.num_heads, small.model.dropout) == (paper.model.num_heads, paper.model.dropout)
    assert small.optimization.label_smoothing == paper.optimization.label_smoothing
