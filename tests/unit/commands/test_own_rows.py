"""Rows in a folder of the user's, named by --config-dir."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from aiayn.config.store import options

CommandLine = Callable[..., Any]

ROW = "# @package _global_\n# Mine.\nmodel:\n  num_heads: 4\n"

BROKEN = {
    "unknown": (
        "# @package _global_\nmodel:\n  d_modle: 3\n",
        "model.d_modle: no such key; did you mean model.d_model? ({path})",
    ),
    "elsewhere": (
        "model:\n  num_heads: 4\n",
        "experiment=elsewhere: a file of this group opens with the line `# @package _global_`",
    ),
    "typed": ("# @package _global_\nmodel: 3\n", "experiment=typed: In 'experiment/typed': "),
    "listed": ("# @package _global_\n- 3\n", "experiment=listed: In 'experiment/listed': "),
    "worded": ("# @package _global_\nmodel:\n  dropout: x\n", "model.dropout: Value 'x' "),
    "torn": ("# @package _global_\nmodel: [\n", "{path}, line 3: not YAML ("),
}


@pytest.fixture
def own(tmp_path: Path, aiayn: CommandLine) -> Path:
    """A folder with two rows and a scale, named relative to the folder that one stands in."""
    for name in ("experiment/mine", "experiment/own/x"):
        path = tmp_path / "my_conf" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ROW)
    return Path("my_conf")


@pytest.mark.parametrize("row", ["mine", "own/x"])
def test_a_users_row_is_composed_under_its_name(aiayn: CommandLine, own: Path, row: str) -> None:
    said = aiayn("train", "--config-dir", str(own), f"experiment={row}", "--cfg", "job", "--resolve")
    assert (said.code, said.err) == (0, "")
    composed = yaml.safe_load(said.out)
    assert composed["identity"]["experiment"] == row
    assert composed["identity"]["name"].startswith(f"{row}/demo-seed1-")
    assert composed["model"]["num_heads"] == 4


def test_the_papers_rows_stay_available(aiayn: CommandLine, own: Path) -> None:
    said = aiayn("train", f"--config-dir={own}", "experiment=table3/a_h1", "--cfg", "job")
    assert (said.code, yaml.safe_load(said.out)["model"]["num_heads"]) == (0, 1)


def test_an_unknown_row_is_answered_with_the_users_too(aiayn: CommandLine, own: Path) -> None:
    said = aiayn("train", "--config-dir", str(own), "experiment=qwxyz")
    everything = ", ".join(sorted([*options("experiment"), "mine", "own/x"]))
    assert said == (2, "", f"aiayn: experiment=qwxyz: no such option; choose from {everything}\n")
    said = aiayn("train", f"hydra.searchpath=[file://{own.absolute()}]", "experiment=mien")
    assert said.err == "aiayn: experiment=mien: no such option; did you mean mine?\n"


@pytest.mark.parametrize("name", BROKEN)
def test_a_row_that_cannot_be_used_is_named_in_one_line(aiayn: CommandLine, own: Path, name: str) -> None:
    text, answer = BROKEN[name]
    path = own / "experiment" / f"{name}.yaml"
    path.write_text(text)
    said = aiayn("train", "--config-dir", str(own), f"experiment={name}")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert said.err.startswith(f"aiayn: {answer.format(path=path.absolute())}")
