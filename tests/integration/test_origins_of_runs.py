"""A run in a dirty checkout keeps the patches and packages of its attempts, so that its code can be restored."""

import os
import shutil
import subprocess
from pathlib import Path

import observers
import pytest
from commands import AIAYN, SECONDS, signal_at
from run_files import only_run
from tiny import TINY

from aiayn.runs.provenance import LARGEST_PATCH, SOURCES
from aiayn.runs.record import Status, read_record

CHECKOUT = Path(__file__).parents[2]

pytestmark = pytest.mark.long


def git(root: Path, *words: str) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    identity = ["-c", "user.name=A Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=root, env=clean, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """This program in a repository of its own."""
    root = tmp_path / "checkout"
    for folder in SOURCES:
        shutil.copytree(CHECKOUT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / ".gitignore").write_text("__pycache__\n")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=one")
    return root


def train(checkout: Path, *words: str) -> int:
    """`aiayn train` by the program of a checkout, in the folder that holds it."""
    path = os.pathsep.join([str(checkout / "src"), str(Path(observers.__file__).parent)])
    command = [*AIAYN, "train", *TINY, "logger=none", *words]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        command, cwd=checkout.parent, env=environment, capture_output=True, timeout=SECONDS, check=False
    )
    return done.returncode


def test_each_attempt_keeps_its_own_patch(checkout: Path) -> None:
    changed, added = checkout / "src/aiayn/__init__.py", checkout / "conf/experiment/mine.yaml"
    changed.write_text(changed.read_text() + "# changed\n")
    assert train(checkout, signal_at(3)) == 1
    run = only_run(checkout.parent / "runs")
    first = read_record(run / "run.json")
    assert (first.commit, first.dirty, first.earlier) == (git(checkout, "rev-parse", "HEAD"), True, [])
    added.write_text("# @package _global_\n")
    assert train(checkout, signal_at(7)) == 1
    second = read_record(run / "run.json")
    (checkout / "sweeps/large.bin").write_bytes(os.urandom(LARGEST_PATCH))
    assert train(checkout) == 0
    last = read_record(run / "run.json")
    assert last.status is Status.finished
    assert last.earlier == [first.origin, second.origin]
    assert len({first.patch, second.patch, last.patch}) == 3
    assert {path.name for path in run.glob("source-*")} == {
        f"source-{first.patch}.patch",
        f"source-{second.patch}.patch",
    }, "that of the last attempt is too large"
    assert "too many to keep" in (run / "run.log").read_text()
    (lock,) = run.glob("packages-*.txt")
    assert lock.name == f"packages-{last.packages}.txt"
    assert any(line.startswith("torch==") for line in lock.read_text().splitlines())
    git(checkout, "clone", "--quiet", ".", "../clone")
    clone = checkout.parent / "clone"
    git(clone, "apply", str(run / f"source-{second.patch}.patch"))
    assert (clone / changed.relative_to(checkout)).read_text() == changed.read_text()
    assert (clone / added.relative_to(checkout)).read_text() == added.read_text()
    assert all(scores.code == last.origin.code for scores in last.scores.values())
