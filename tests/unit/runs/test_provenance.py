"""Versions, the commit of the checkout and the machine are recorded as they are."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from aiayn.runs import provenance

TELL = "import json; from aiayn.runs.provenance import code_version; print(json.dumps(code_version()))"
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with this program's source in it, as an unpacked archive has it."""
    source = Path(provenance.__file__).parents[1]
    for name in ("__init__.py", "runs/__init__.py", "runs/provenance.py"):
        target = tmp_path / "src" / "aiayn" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, target)
    return tmp_path


def told(root: Path) -> list[object]:
    environment = {**CLEAN, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run([sys.executable, "-c", TELL], env=environment, capture_output=True, text=True, check=True)
    answer: list[object] = json.loads(result.stdout)
    return answer


def git(root: Path, *words: str) -> str:
    identity = ["-c", "user.name=A Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=root, env=CLEAN, capture_output=True, text=True, check=True).stdout.strip()


def test_every_version_is_that_of_the_installed_package() -> None:
    versions = provenance.versions()
    assert versions.pop("python") == ".".join(map(str, sys.version_info[:3]))
    assert versions.pop("torch") == torch.__version__, "the build, such as +cu130, is part of it"
    assert versions == {name: importlib.metadata.version(name) for name in versions}
    assert {"pytorch-lightning", "tokenizers", "sacrebleu"} <= versions.keys()


def test_the_commit_and_uncommitted_changes_are_stated(copy: Path) -> None:
    assert told(copy) == [None, None], "an unpacked archive has no commit"
    git(copy, "init", "--quiet")
    git(copy, "add", ".")
    git(copy, "commit", "--quiet", "--message=one")
    commit = git(copy, "rev-parse", "HEAD")
    assert told(copy) == [commit, False]
    (copy / "notes.txt").write_text("results of others")
    assert told(copy) == [commit, False], "an untracked file is no change of the code"
    (copy / "src" / "aiayn" / "__init__.py").write_text("# another program\n")
    assert told(copy) == [commit, True]


def test_a_checkout_without_a_commit_has_none(copy: Path) -> None:
    git(copy, "init", "--quiet")
    assert told(copy)[0] is None


def test_the_machine_is_described_in_json() -> None:
    hardware = provenance.hardware()
    assert json.loads(json.dumps(hardware)) == hardware
    assert hardware["cores"] == os.cpu_count()
    assert hardware["threads"] == torch.get_num_threads()
    assert len(hardware["gpus"]) == torch.cuda.device_count()
    assert hardware["processor"]
    assert hardware["memory_gib"] > 0
