"""Runs small enough to be done many times: seconds on one core."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import observers
import pytest
import wandb
from commands import AIAYN, SECONDS, CommandLine, Find, Finished, Said, Say, Train
from run_files import add_random_checkpoint
from run_files import only_run as only_run_below
from tiny import TINY
from wandb_server import KEY, RecordingServer, wandb_server

from aiayn.commands.front_end import main
from aiayn.data.preparation.prepared import PreparedData, find_prepared
from aiayn.runs.record import read_record


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all runs of the session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", autouse=True)
def environment(shared_cache: Path) -> Iterator[None]:
    """Of commands here and in processes of their own, which can import `observers`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIAYN_CACHE", str(shared_cache))
        patch.setenv("PYTHONPATH", str(Path(observers.__file__).parent), prepend=os.pathsep)
        patch.setenv("WANDB_SILENT", "true")
        patch.setenv("WANDB_MODE", "offline")
        patch.delenv("AIAYN_SWEEP", raising=False)
        yield


@pytest.fixture(scope="session")
def tiny() -> tuple[str, ...]:
    """The overrides of every run here."""
    return TINY


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Finished:
    """A finished tiny run with some overrides, done once; tests only read or copy it."""

    @cache
    def run(*words: str, tracker: str = "none") -> Path:
        runs = tmp_path_factory.mktemp("runs")
        paths = (f"paths.runs={runs}", f"paths.cache={shared_cache}")
        assert main(["train", *TINY, f"logger={tracker}", *words, *paths]) == 0
        return only_run_below(runs)

    return run


@pytest.fixture(scope="session")
def trained_run(finished: Finished) -> Path:
    """A finished tiny run that tests only read.

    Besides its own checkpoints it has one of step 1 with random matrices: after so little training the others answer
    everything alike, and nothing could be told apart.
    """
    run = finished()
    add_random_checkpoint(run)
    return run


@pytest.fixture(scope="session")
def trained_data(trained_run: Path, shared_cache: Path) -> PreparedData:
    """The prepared corpus of the trained run."""
    found = find_prepared(shared_cache, read_record(trained_run / "run.json").data_fingerprint or "")
    assert found
    return found


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """`aiayn train` on a tiny configuration, in this process and in a folder of its own; returns the exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIAYN_SWEEP", "")  # given back after the test
    monkeypatch.delenv("AIAYN_SWEEP")

    def call(*overrides: str, tracker: str = "none", corpus: str = "grammar") -> int:
        tiny = [word for word in TINY if corpus == "grammar" or not word.startswith("data.")]
        return main(["train", *tiny, f"logger={tracker}", f"data={corpus}", *overrides])

    return call


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Say:
    """A command in this process, in a folder of its own, with standard input."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str, given: str | bytes = "") -> Said:
        capfd.readouterr()
        content = given.encode() if isinstance(given, str) else given
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return Said(main(words), *capfd.readouterr())

    return call


@pytest.fixture
def command_line(tmp_path: Path) -> CommandLine:
    """`python -m aiayn train` on a tiny configuration, in a process of its own."""

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*AIAYN, "train", *TINY, "logger=none", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    return call


@pytest.fixture
def only_run(tmp_path: Path) -> Find:
    """The one run directory that the test has made."""
    return lambda: only_run_below(tmp_path / "runs")


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    """A local W&B server that records all requests."""
    with wandb_server() as recording:
        yield recording


@pytest.fixture
def logged_out(tmp_path: Path, train: Train, monkeypatch: pytest.MonkeyPatch, server: RecordingServer) -> None:
    """W&B's client uses the recording server, without credentials."""
    for variable in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_PROJECT", "WANDB_ENTITY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("WANDB_BASE_URL", server.url)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for folder in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"WANDB_{folder}_DIR", str(tmp_path / "client"))
    wandb.teardown()  # forget the settings of earlier tests


@pytest.fixture
def logged_in(logged_out: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """W&B's client has credentials."""
    monkeypatch.setenv("WANDB_API_KEY", KEY)
