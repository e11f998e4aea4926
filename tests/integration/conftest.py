"""Runs small enough to be done many times: seconds on one core."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import wandb
from tiny_run import TINY
from wandb_server import KEY, RecordingServer, wandb_server

from aiayn.commands.front_end import main

Train = Callable[..., int]


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all runs of the session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def tiny() -> tuple[str, ...]:
    """The overrides of every run here."""
    return TINY


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A finished tiny run that tests only read.

    Besides its own checkpoints it has one of step 1 with random matrices: after so little training the others answer
    everything alike, and nothing could be told apart.
    """
    runs = tmp_path_factory.mktemp("runs")
    assert main(["train", *TINY, "logger=none", f"paths.runs={runs}", f"paths.cache={shared_cache}"]) == 0
    (record,) = runs.glob("*/*/*/run.json")
    checkpoint = torch.load(record.parent / "checkpoints" / "step-0000012.ckpt", weights_only=True)
    randomness = torch.Generator().manual_seed(1)
    for weight in checkpoint["state_dict"].values():
        if weight.dim() == 2:
            weight.normal_(std=0.5, generator=randomness)
    torch.save(checkpoint, record.parent / "checkpoints" / "step-0000001.ckpt")
    return record.parent


@pytest.fixture
def train(tmp_path: Path, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """`aiayn train` on a tiny configuration, in this process and in a folder of its own; returns the exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIAYN_CACHE", str(shared_cache))
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_MODE", "offline")  # whoever is logged in
    monkeypatch.setenv("AIAYN_SWEEP", "")  # given back after the test
    monkeypatch.delenv("AIAYN_SWEEP")

    def call(*overrides: str, tracker: str = "none", corpus: str = "grammar") -> int:
        tiny = [word for word in TINY if corpus == "grammar" or not word.startswith("data.")]
        return main(["train", *tiny, f"logger={tracker}", f"data={corpus}", *overrides])

    return call


@pytest.fixture
def command_line(tmp_path: Path, shared_cache: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same as a user would start it: `python -m aiayn train` in a process of its own."""
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))  # for observers

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "aiayn", "train", *TINY, "logger=none", *words],
            cwd=tmp_path,
            env={**os.environ, "AIAYN_CACHE": str(shared_cache), "OMP_NUM_THREADS": "1", "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return call


@pytest.fixture
def only_run(tmp_path: Path) -> Callable[[], Path]:
    """The one run directory that the test has made."""

    def find() -> Path:
        (record,) = (tmp_path / "runs").glob("*/*/*/run.json")
        return record.parent

    return find


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
