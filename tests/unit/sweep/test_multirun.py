"""A multirun composes each of its jobs once, and calls the callbacks of the user's own."""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Say
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from aiayn.config.compose import register
from aiayn.config.hydra_versions import initialized
from aiayn.sweep.multirun import ComposedOnce

OBSERVER = """
from pathlib import Path
from hydra.experimental.callback import Callback

class Observer(Callback):
    def __getattribute__(self, name):
        if name.startswith("on_"):
            with Path("events").open("a") as file:
                file.write(name + "\\n")
        if name == "on_job_end":
            raise RuntimeError("mine")
        return super().__getattribute__(name)
"""


@pytest.fixture
def loader() -> Iterator[ComposedOnce]:
    register()
    with initialized():
        yield ComposedOnce(GlobalHydra.instance().config_loader())


def test_what_is_composed_for_a_job_is_its_own_and_made_once(loader: ComposedOnce) -> None:
    master = loader.load_configuration("train", ["scale=nano"], run_mode=RunMode.MULTIRUN)
    first = loader.load_sweep_config(master, ["seed=1"])
    first.seed = 5
    again = loader.load_sweep_config(master, ["seed=1"])
    assert again.seed == 1, "what one caller changes is not seen by another"
    other = loader.load_sweep_config(master, ["seed=2"])
    assert other.seed == 2
    again.seed = other.seed
    assert {**again, "hydra": None} == {**other, "hydra": None}
    assert [*again.hydra.overrides.task] == ["seed=1"]


def test_another_process_gets_the_loader_without_what_is_kept(loader: ComposedOnce) -> None:
    master = loader.load_configuration("train", [], run_mode=RunMode.MULTIRUN)
    empty = len(pickle.dumps(loader))
    loader.load_sweep_config(master, ["seed=1"])
    assert len(pickle.dumps(loader)) == empty


@pytest.mark.parametrize("kind", ["run", "multirun"])
def test_callbacks_are_called_and_stop_no_job(
    aiayn: Say, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "observing.py").write_text(OBSERVER)
    monkeypatch.syspath_prepend(tmp_path)
    flags = ["-m", "seed=1,2"] if kind == "multirun" else []
    said = aiayn("plan", *flags, "scale=nano", "+hydra.callbacks.mine._target_=observing.Observer")
    sys.modules.pop("observing")
    events = (tmp_path / "events").read_text().splitlines()
    jobs = ["on_job_start", "on_job_end"] * (2 if kind == "multirun" else 1)
    assert said.code == 0, said.err
    assert events == [f"on_{kind}_start", *jobs, f"on_{kind}_end"]
    assert "Observer.on_job_end: RuntimeError: mine" in said.err
