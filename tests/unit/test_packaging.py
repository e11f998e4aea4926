"""Lock file, citation, container file, hooks and workflows agree with pyproject.toml and the Makefile."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import aiayn

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NOXFILE = (ROOT / "noxfile.py").read_text(encoding="utf-8")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

STAGES = {
    tag: {*re.findall(rf'^@nox\.session\(tags=\["{tag}"\]\)\ndef (\w+)', NOXFILE, re.MULTILINE)}
    for tag in ("ci", "nightly")
}
"""Of noxfile.py, by tag."""

NOT_LOCKED = {"comet", "dev", "site"}
"""Extras with pins of their own, or for developers."""


def pins() -> dict[str, list[Requirement]]:
    """The lines of the lock file by name; torch is the one in a comment."""
    found: dict[str, list[Requirement]] = {}
    for line in re.findall(r"^(?:# )?([a-z0-9-]+==[^\\\n]+)", LOCK, re.MULTILINE):
        pin = Requirement(line.strip())
        found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def requirements() -> Iterator[Requirement]:
    """What aiayn and the extras of the lock file require."""
    extras = PROJECT["optional-dependencies"]
    for lines in (PROJECT["dependencies"], *(extras[name] for name in sorted(extras.keys() - NOT_LOCKED))):
        yield from map(Requirement, lines)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("requirement", list(requirements()), ids=lambda requirement: requirement.name)
def test_the_lock_has_one_allowed_version_of_each_requirement(requirement: Requirement, python: str) -> None:
    environment = default_environment() | {"python_version": python, "python_full_version": f"{python}.0"}
    assert requirement.marker is None
    chosen = [
        pin
        for pin in pins().get(canonicalize_name(requirement.name), [])
        if pin.marker is None or pin.marker.evaluate({name: str(value) for name, value in environment.items()})
    ]
    assert len(chosen) == 1, "run `make lock`"
    (version,) = (specifier.version for specifier in chosen[0].specifier)
    assert requirement.specifier.contains(version), "run `make lock`"


def test_every_locked_file_has_a_hash_and_no_address() -> None:
    blocks = re.split(r"^(?=[a-z0-9-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert len(blocks) == sum(map(len, pins().values())) - 1, "all but torch"
    assert all("--hash=sha256:" in block for block in blocks)
    assert "://" not in LOCK


def test_the_lock_has_no_build_for_a_kind_of_device() -> None:
    names = pins().keys()
    assert not [name for name in names if re.match(r"nvidia-(?!ml-py)|cuda-|triton", name)]
    assert re.search(r"^# torch==[\d.]+$", LOCK, re.MULTILINE)


def test_tests_can_build_without_fetching_the_backend() -> None:
    assert {*PYPROJECT["build-system"]["requires"]} <= {*PROJECT["optional-dependencies"]["dev"]}


def test_the_citation_and_the_changes_are_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    assert citation["version"] == aiayn.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([^,\n]+)", changes, re.MULTILINE)[0] == aiayn.__version__
    assert citation["license"] == PROJECT["license"]
    (paper,) = citation["references"]
    assert len(paper["authors"]) == 8


def test_documents_state_the_supported_versions() -> None:
    stated = {Requirement(line).name: Requirement(line).specifier for line in PROJECT["dependencies"]}
    readme, *others = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/start.md", "CONTRIBUTING.md")
    )
    for name, supported in (("Hydra", stated["hydra-core"]), ("torch", stated["torch"])):
        assert supported == until_the_next_minor(*re.findall(rf"{name} ([\d.]+) to (\d+)\.(\d+)", readme)[0])
    for text in (readme, *others):
        found = re.findall(r"Python ([\d.]+) to (\d+)\.(\d+)", text)
        assert SpecifierSet(PROJECT["requires-python"]) == until_the_next_minor(*found[0])


def until_the_next_minor(low: str, major: str, minor: str) -> SpecifierSet:
    """The specifier of versions from `low` to all of major.minor."""
    return SpecifierSet(f">={low},<{major}.{int(minor) + 1}")


def test_the_container_runs_the_demo_as_a_user() -> None:
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    words = [line.split(maxsplit=1) for line in lines if line and not line.startswith(("#", " "))]
    users = [rest for instruction, rest in words if instruction == "USER"]
    assert users == ["1000"], "a number, which any host can tell from root"
    assert ["CMD", '["make", "demo"]'] in words
    assert {"CMD", "COPY", "RUN"} <= {instruction for instruction, _ in words[words.index(["USER", "1000"]) :]}
    copied = [rest.split()[-2] for instruction, rest in words if instruction == "COPY"]
    assert all((ROOT / path).exists() for path in copied)
    assert not any("://" in line for line in lines)


def test_the_hook_of_ruff_is_that_of_make_check() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (revision,) = (each["rev"] for each in hooks["repos"] if each["repo"].endswith("/ruff-pre-commit"))
    assert f"ruff=={revision.removeprefix('v')}" in PROJECT["optional-dependencies"]["dev"], "renew both"


def test_make_check_reads_the_scripts_that_the_hooks_read() -> None:
    """A hook knows Python by the first line, ruff by the name."""
    command = [str(Path(sys.executable).with_name("ruff")), "check", "--show-files", ".ci"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    scripts = (path for path in (ROOT / ".ci").iterdir() if path.is_file())
    assert {*map(Path, shown)} == {path for path in scripts if "python" in path.read_text("utf-8").partition("\n")[0]}


def stages(workflow: str) -> list[str]:
    """The stages of noxfile.py that a workflow runs by stage.yml, with a stage once for each Python."""
    found: list[str] = []
    for job in yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text("utf-8"))["jobs"].values():
        matrix = job["strategy"]["matrix"]
        found += matrix["stage"] if "stage" in matrix else [job["with"]["stage"]] * len(matrix["python"])
    return found


def test_workflows_run_each_stage_once_and_the_suite_on_each_python() -> None:
    """The quick tests are of the suite."""
    assert sorted(stages("nightly")) == sorted(STAGES["nightly"])
    suite, once = ["default"] * len(PYTHONS), STAGES["ci"] - {"default", "quick"}
    assert sorted(stages("ci")) == sorted([*suite, *once])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_that_exist_without_secrets(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow: dict[Any, Any] = yaml.safe_load(text)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    called = {job["uses"] for job in workflow["jobs"].values() if "uses" in job}
    assert called <= {"./.github/workflows/stage.yml"}
    jobs = [job for job in workflow["jobs"].values() if "uses" not in job]
    lines = [step.get("run", "") for job in jobs for step in job["steps"]]
    assert {found[1] for line in lines if (found := re.match(r"make ([a-z-]+)", line))} <= set(targets)
    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in jobs)
    used = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert all(re.search(r"@(v\d+|release/v\d+|[0-9a-f]{40})$", each) for each in used)
    assert "secrets." not in text


def test_stages_call_targets_that_exist() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    called = re.findall(r'(?:make|suite)\(session, "([a-z-]+)"', NOXFILE)
    assert len(called) >= len(STAGES["ci"] | STAGES["nightly"])
    assert {*called} <= {*targets}


@pytest.mark.slow
def test_the_nightly_stages_go_on_where_they_stopped(tmp_path: Path) -> None:
    """Also where a stage fails: the others run, and it is run again."""
    (tmp_path / "noxfile.py").write_text(NIGHTLY)
    (tmp_path / ".gitignore").write_text(".cache/\n.nox/\n__pycache__/\nran\nbroken\n")
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "nightly", tmp_path / ".ci" / "nightly")
    (tmp_path / ".nox" / "nox").mkdir(parents=True)
    (tmp_path / ".nox" / "nox" / "bin").symlink_to(Path(sys.executable).parent)
    by = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    for words in (["init", "--quiet"], ["add", "."], [*by, "commit", "--quiet", "--message=first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    ran, kept = tmp_path / "ran", tmp_path / ".cache" / "nightly.json"

    def nightly(*stages: str) -> int:
        ran.unlink(missing_ok=True)
        return subprocess.run([tmp_path / ".ci" / "nightly", *stages], cwd=tmp_path, check=False).returncode

    (tmp_path / "broken").touch()
    assert (nightly(), ran.read_text().split()) == (1, ["first", "second"])
    assert {name: found["passed"] for name, found in json.loads(kept.read_text()).items()} == {
        "first": False,
        "second": True,
    }
    (tmp_path / "broken").unlink()
    assert (nightly(), ran.read_text().split()) == (0, ["first"])
    assert nightly() == 0
    assert not ran.exists()
    assert (nightly("second"), ran.read_text().split()) == (0, ["second"])
    assert nightly("third") == 2
    (tmp_path / "noxfile.py").write_text(f"{NIGHTLY}\n")
    assert (nightly(), ran.read_text().split()) == (0, ["first", "second"])
    assert all(found["commit"].endswith(" with changes") for found in json.loads(kept.read_text()).values())


NIGHTLY = """
import nox
from pathlib import Path

def run(session, name):
    Path("ran").open("a").write(name + "\\n")
    if name == "first" and Path("broken").exists():
        session.error("broken")

@nox.session(tags=["nightly"], venv_backend="none")
def first(session):
    run(session, "first")

@nox.session(tags=["nightly"], venv_backend="none")
def second(session):
    run(session, "second")
"""
