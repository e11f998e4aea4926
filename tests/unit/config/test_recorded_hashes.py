"""Recorded runs keep their hashes: today's code finds a finished run, and does not train it again."""

import json
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from aiayn.config.compose import compose_command
from aiayn.config.freeze import frozen_content, load_config, plain
from aiayn.config.identity import EARLIER_KEYS, LATER_KEYS, configuration_hash, flatten, is_neutral
from aiayn.config.store import options

ROOT = Path(__file__).parents[3]
FOLDERS = [ROOT / "docs" / "results" / "lab" / "runs", ROOT / "tests" / "support" / "recorded"]
ARCHIVES = sorted((ROOT / "docs" / "results").rglob("runs.tar.xz"))

pytestmark = pytest.mark.skipif(not ARCHIVES, reason="recorded results are in the repository alone")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The directories of all published runs."""
    folders = list(FOLDERS)
    for archive in ARCHIVES:
        folders.append(tmp_path_factory.mktemp("runs"))
        with tarfile.open(archive) as content:
            wanted = [each for each in content if Path(each.name).name in ("config.yaml", "run.json")]
            content.extractall(folders[-1], members=wanted, filter="data")
    return sorted(file.parent for folder in folders for file in folder.rglob("run.json"))


def records(runs: list[Path]) -> Iterator[tuple[Path, dict[str, str]]]:
    return ((run, json.loads((run / "run.json").read_text())) for run in runs)


def test_frozen_configurations_have_the_recorded_hashes(recorded: list[Path]) -> None:
    assert len(recorded) > 30
    for run, record in records(recorded):
        config = load_config(run / "config.yaml")
        for content in (frozen_content(run / "config.yaml"), plain(config)):
            sources = config.identity.sources
            assert (
                configuration_hash(content, fidelity=config.identity.fidelity, sources=sources)
                == (record["config_hash"])
            ), run


def test_recorded_commands_have_the_recorded_hashes_and_names(recorded: list[Path]) -> None:
    found = 0
    for run, record in records(recorded):
        words = [word for word in shlex.split(record["command"])[2:] if not word.startswith(("paths.", "hydra."))]
        sweeps = [word.removeprefix("sweeps=") for word in words if word.startswith("sweeps=")]
        if {*sweeps} <= {*options("sweeps")} and not any(word.startswith("-") for word in words):
            identity = compose_command("train", words).identity
            assert (identity.hash, identity.name) == (record["config_hash"], record["name"]), run
            found += 1
    assert found > 3


def test_a_later_key_is_a_key_and_an_earlier_one_was_one_that_changed_no_hash() -> None:
    (path,) = FOLDERS[1].rglob("config.yaml")
    keys, recorded = flatten(plain(load_config(path))).keys(), flatten(frozen_content(path)).keys()
    assert {*LATER_KEYS} <= keys
    assert {*EARLIER_KEYS} <= recorded - keys
    assert all(map(is_neutral, EARLIER_KEYS))
