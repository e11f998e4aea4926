"""The core does without any extension: it works in a copy of the tree where one is deleted with all that is its own."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aiayn.config.store import conf_directory
from aiayn.registry import extensions

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not (ROOT / "sweeps").is_dir(), reason="needs the checkout")


def copy_without(name: str, folder: Path) -> Path:
    """A copy of what runs, without an extension, its values in conf/, and its sweeps."""
    for part in ("src", "conf", "sweeps"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    extension = extensions()[name]
    gone = [f"src/aiayn/extensions/{name}", *(f"conf/{each}" for each in extension.values)]
    gone += [f"sweeps/{each}" for each in extension.sweeps]
    for path in (folder / each for each in gone):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return folder


def in_copy(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports by name, those of TYPE_CHECKING included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def test_there_are_extensions() -> None:
    assert len(extensions()) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", extensions())
def test_an_extension_can_be_deleted(name: str, tmp_path: Path) -> None:
    folder = copy_without(name, tmp_path)
    extension = extensions()[name]
    assert conf_directory() == ROOT / "conf"
    used = {module for path in (folder / "src").rglob("*.py") for module in imported(path)}
    assert not [module for module in used if module.startswith(f"aiayn.extensions.{name}")]
    shown = in_copy(folder, sys.executable, "-m", "aiayn", "--help")
    assert shown.returncode == 0, shown.stderr
    listed = {line.split()[0] for line in shown.stdout.splitlines() if line.startswith("  ") and line[2] != " "}
    assert "train" in listed
    assert not listed & extension.commands.keys()
    for noun in extension.reports:
        answer = in_copy(folder, sys.executable, "-m", "aiayn", "report", noun)
        assert answer.returncode == 2
        assert answer.stderr.startswith(f"aiayn: report {noun}: ")
    composed = in_copy(folder, sys.executable, "-m", "aiayn", "train", "--cfg", "job")
    assert composed.returncode == 0, composed.stderr
    contracts = in_copy(folder, str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache")
    assert contracts.returncode == 0, contracts.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", extensions())
def test_without_an_extension_a_run_is_trained_used_and_reported(name: str, tmp_path: Path) -> None:
    folder = copy_without(name, tmp_path)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    smoke = in_copy(folder, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_smoke.py")
    assert smoke.returncode == 0, smoke.stdout


WITHOUT_PARSING = """
import sys
from pathlib import Path
from aiayn.builders.corpus import build_corpus
from aiayn.config.data_schema import CorpusKind, ToyTreesDataConfig
from aiayn.errors import UserError
from aiayn.registry import added_task
for ask in (
    lambda: added_task("parsing"),
    lambda: build_corpus(ToyTreesDataConfig(kind=CorpusKind.toy_trees), cache=Path("cache")),
):
    try:
        ask()
    except UserError as error:
        print(error)
"""


@pytest.mark.slow
def test_what_an_earlier_run_needs_of_a_deleted_extension_is_one_line(tmp_path: Path) -> None:
    """Its trees are not scored as translations, and its corpus is not taken for another kind."""
    folder = copy_without("parsing", tmp_path)
    said = in_copy(folder, sys.executable, "-c", WITHOUT_PARSING)
    remedy = "no folder of aiayn/extensions adds it; restore the one that was deleted"
    assert said.stdout.splitlines() == [f"task parsing: {remedy}", f"data.kind=toy_trees: {remedy}"], said.stderr
