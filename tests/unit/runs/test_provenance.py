"""Commit, uncommitted changes, packages and machine are recorded as they are."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import aiayn
from aiayn.runs import provenance

TELL = "import json; from aiayn.runs.provenance import code_version; print(json.dumps(code_version()))"
SHOW = "import sys; from aiayn.runs.provenance import source_patch; sys.stdout.buffer.write(source_patch() or b'')"
TWICE = """
import sys
from pathlib import Path
from aiayn.runs.provenance import code_version
before = code_version()
Path(sys.argv[1]).write_text("# another program")
assert code_version() == before
"""
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with this program's source in it, as an unpacked archive has it."""
    source = Path(provenance.__file__).parents[1]
    needed = (
        "__init__.py",
        "errors.py",
        "runs/__init__.py",
        "runs/provenance.py",
        "system/__init__.py",
        "system/files.py",
        "system/scratch.py",
    )
    for name in needed:
        target = tmp_path / "src" / "aiayn" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, target)
    return tmp_path


@pytest.fixture
def checkout(copy: Path) -> Path:
    """The same as a git repository with one commit."""
    git(copy, "init", "--quiet")
    (copy / ".gitignore").write_text("__pycache__\n*.secret\n")
    (copy / "src/old.py").write_text("# no longer needed\n")
    git(copy, "add", ".")
    git(copy, "commit", "--quiet", "--message=one")
    return copy


def run(root: Path, program: str, *words: str) -> bytes:
    """The output of a program that imports the package from a folder, where no package is installed."""
    environment = {**CLEAN, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-S", "-c", program, *words]
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


def told(root: Path) -> list[object]:
    answer: list[object] = json.loads(run(root, TELL))
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


def test_the_commit_and_uncommitted_changes_are_stated(copy: Path, checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert told(checkout) == [commit, False, None, None]
    (checkout / "notes.txt").write_text("results of others")
    assert told(checkout) == [commit, False, None, None], "a file elsewhere is no change of the code"
    (checkout / "src" / "aiayn" / "__init__.py").write_text("# another program\n")
    _, dirty, patch, _ = told(checkout)
    assert dirty is True
    assert patch == provenance.digest(run(checkout, SHOW))
    (checkout / "src" / "new.py").write_text("# untracked\n")
    assert told(checkout)[2] not in (None, patch)
    git(checkout, "add", "src")
    git(checkout, "commit", "--quiet", "--message=two")
    assert told(checkout) == [git(checkout, "rev-parse", "HEAD"), False, None, None]


def test_an_unpacked_archive_has_the_version_and_no_commit(copy: Path) -> None:
    assert told(copy) == [None, None, None, aiayn.__version__]
    assert run(copy, SHOW) == b""


def test_only_known_code_reads_as_such() -> None:
    texts = [
        provenance.Code("a" * 40, dirty, patch, version).text
        for dirty, patch, version in ((False, None, None), (None, None, None), (True, "b" * 12, None))
    ]
    texts += [provenance.Code(None, None, None, version).text for version in ("1.0", "1.1", None)]
    assert len(set(texts)) == len(texts)
    assert "1.1" in texts[4]


def test_the_patch_restores_the_sources_and_holds_nothing_else(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    clone = tmp_path_factory.mktemp("clean") / "clone"
    git(checkout, "clone", "--quiet", str(checkout), str(clone))
    git(checkout, "config", "diff.noprefix", "true")  # the user's settings do not matter
    git(checkout, "config", "diff.external", "false")
    (checkout / "src/aiayn/__init__.py").write_text("# another program\n")
    (checkout / "src/old.py").unlink()
    (checkout / "conf").mkdir()
    (checkout / "conf/staged file.yaml").write_text("a: 1\n")
    git(checkout, "add", "conf")
    (checkout / "conf/staged file.yaml").write_text("a: 2\n")
    (checkout / "sweeps").mkdir()
    (checkout / "sweeps/größe.bin").write_bytes(bytes(range(256)))
    for outside in (".env", "src/key.secret"):
        (checkout / outside).write_text("password")
    before = git(checkout, "status", "--porcelain"), sorted((checkout / ".git").rglob("*"))
    patch = run(checkout, SHOW)
    assert (git(checkout, "status", "--porcelain"), sorted((checkout / ".git").rglob("*"))) == before
    assert b"password" not in patch
    (clone / "a.patch").write_bytes(patch)
    git(clone, "apply", "a.patch")
    (checkout / "src/key.secret").unlink()
    for folder in provenance.SOURCES:
        assert contents(clone / folder) == contents(checkout / folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_changes_after_the_first_look_are_not_in_the_code_that_is_loaded(checkout: Path) -> None:
    run(checkout, TWICE, str(checkout / "src/aiayn/__init__.py"))
    assert told(checkout)[1] is True


def test_a_checkout_without_a_commit_has_none(copy: Path) -> None:
    git(copy, "init", "--quiet")
    assert told(copy)[0] is None


def test_the_lock_names_every_installed_package_once() -> None:
    python, *lines = provenance.package_lock().splitlines()
    assert python == f"# Python {'.'.join(map(str, sys.version_info[:3]))}"
    assert lines == sorted(lines)
    versions = dict(line.split("==") for line in lines)
    assert len(versions) == len(lines)
    assert versions == {name: importlib.metadata.version(name) for name in versions}
    assert {"pytest", "torch", "aiayn", "antlr4-python3-runtime"} <= versions.keys()


def test_processors_have_no_tensor_float_32() -> None:
    assert provenance.uses_tf32(torch.device("cpu")) is False


@pytest.mark.skipif(provenance.checkout() is None, reason="needs a checkout")
def test_a_folder_for_temporary_files_that_refuses_is_named() -> None:
    refused = f"import tempfile; tempfile.tempdir = '/nowhere'; {SHOW}"
    ended = subprocess.run([sys.executable, "-c", refused], capture_output=True, text=True, check=False)
    assert "UserError: TMPDIR=" in ended.stderr.splitlines()[-1]
