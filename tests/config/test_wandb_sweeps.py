"""Every file of sweeps/wandb/ is a sweep of W&B whose parameters are overrides that the schema accepts."""

import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.store import options, sweeps_directory
from aiayn.config.validation import validate
from aiayn.paper.tables import load_table3

FOLDER = sweeps_directory() / "wandb"
FILES = sorted(FOLDER.glob("*.yaml"))

LOGGED = {"val/ppl", "val/bleu", "train/loss", "train/ppl"}
"""What runs log at optimizer steps, and a sweep can therefore go by."""


def content(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def ends(parameter: dict[str, Any]) -> tuple[Any, Any]:
    """The first and last value of a list, or both ends of an interval."""
    values = parameter.get("values") or (parameter["min"], parameter["max"])
    return values[0], values[-1]


def command(path: Path, end: int) -> list[str]:
    """What an agent would start with all parameters at one of their ends, as W&B itself writes them out."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args  # takes seconds to import

    sweep = content(path)
    arguments = {key: {"value": ends(parameter)[end]} for key, parameter in sweep["parameters"].items()}
    words = create_sweep_command_args({"args": arguments})["args_no_hyphens"]
    return [each for word in sweep["command"] for each in (words if word == "${args_no_hyphens}" else [word])]


def test_the_promised_sweeps_are_there_and_are_not_offered_to_hydra() -> None:
    assert [path.stem for path in FILES] == ["bayes", "table3"]
    assert not [name for name in options("sweeps") if "wandb" in name or name == "bayes"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_parameters_are_overrides_that_make_a_run_of_their_own(path: Path) -> None:
    names = set()
    for end in (0, -1):
        program, verb, *words = command(path, end)
        assert (program, verb) == ("aiayn", "train")
        config = to_dataclass(compose_command("train", words), TrainConfig)
        validate(config)
        names.add(config.identity.name)
    assert len(names) == 2


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sweep_opens_with_its_command_and_the_number_of_its_runs(path: Path) -> None:
    sweep, text = content(path), path.read_text()
    (to_type,) = re.findall(r"^# Command: `([^`]+)`", text, re.MULTILINE)
    assert shlex.split(to_type) == ["wandb", "sweep", f"sweeps/wandb/{path.name}"]
    (count,) = re.findall(r"^# Cost: (\d+) runs", text, re.MULTILINE)
    runs: int = sweep.get("run_cap") or math.prod(len(each["values"]) for each in sweep["parameters"].values())
    assert int(count) == runs
    assert (sweep["name"], sweep["program"], sweep["command"][-1]) == (path.stem, "aiayn", "${args_no_hyphens}")
    assert sweep["metric"]["name"] in LOGGED


def test_table3_has_the_rows_of_the_table() -> None:
    rows = content(FOLDER / "table3.yaml")["parameters"]["experiment"]["values"]
    assert rows == [f"table3/{row.id}" for row in load_table3().rows]
