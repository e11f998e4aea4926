"""Help, completion and the configuration import no heavy package."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"torch", "pytorch_lightning", "lightning", "wandb", "datasets", "tokenizers", "sacrebleu", "numpy", "rich"}

COUNT = """
import json, sys
from aiayn.commands.front_end import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]), file=sys.stderr)
"""


def imported(*words: str, folder: Path, **environment: str) -> set[str]:
    """The packages that a command line imports."""
    result = subprocess.run(
        [sys.executable, "-c", COUNT, *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    code, packages = json.loads(result.stderr.splitlines()[-1])
    assert code == 0, result.stderr
    assert "aiayn" in packages
    return set(packages)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["train", "--help"],
        ["train", "--cfg", "job"],
        ["prepare", "--cfg", "job"],
        ["evaluate", "run=here", "--cfg", "job"],
        ["attention", "run=here", "--cfg", "job"],
        ["sync", "--cfg", "job"],
        ["report", "run", "--cfg", "job"],
        ["dashboard", "--cfg", "job"],
    ],
    ids=" ".join,
)
def test_help_and_the_configuration_need_no_torch(words: list[str], tmp_path: Path) -> None:
    assert not imported(*words, folder=tmp_path) & HEAVY


@pytest.mark.parametrize("words", [["--help"], ["--version"]], ids=" ".join)
def test_the_list_of_commands_needs_no_hydra(words: list[str], tmp_path: Path) -> None:
    assert not imported(*words, folder=tmp_path) & {"hydra", "omegaconf", "yaml", "antlr4"}


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["plan"], {"rich"}),
        (["status"], {"rich"}),
        (["report", "paper"], {"rich"}),
        (["report", "table3"], {"rich", "numpy"}),
    ],
)
def test_tables_need_no_torch(words: list[str], needed: set[str], tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    assert not imported(*words, folder=tmp_path) & (HEAVY - needed)


def test_completion_needs_no_torch(tmp_path: Path) -> None:
    line = "aiayn train scale="
    packages = imported("-sc", "query=bash", folder=tmp_path, COMP_LINE=line, COMP_POINT=str(len(line)))
    assert not packages & HEAVY
