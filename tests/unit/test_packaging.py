"""Lock file, citation, container file and workflows agree with pyproject.toml and the Makefile."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import aiayn

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = ("3.11", "3.12", "3.13")

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


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    assert citation["version"] == PROJECT["version"] == aiayn.__version__
    assert citation["license"] == PROJECT["license"]
    (paper,) = citation["references"]
    assert len(paper["authors"]) == 8


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


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_that_exist_without_secrets(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow: dict[Any, Any] = yaml.safe_load(text)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    made = {found[1] for step in steps if (found := re.match(r"make ([a-z-]+)", step.get("run", "")))}
    assert made <= set(targets)
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 45 for job in workflow["jobs"].values())
    assert all(re.search(r"@(v\d+|release/v\d+|[0-9a-f]{40})$", step["uses"]) for step in steps if "uses" in step)
    assert "secrets." not in text
