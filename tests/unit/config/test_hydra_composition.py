"""A command composes its configuration once, unless somebody may have made it a multirun in a file."""

from pathlib import Path
from typing import Any

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from omegaconf import OmegaConf

from aiayn.commands.front_end import main
from aiayn.config.store import conf_directory, sweeps_directory


def mode(file: Path) -> Any:
    content = OmegaConf.load(file)
    return OmegaConf.select(content, "mode" if file.parent.name == "hydra" else "hydra.mode")


def test_no_file_states_a_mode_but_those_of_sweeps() -> None:
    files = [*conf_directory().rglob("*.yaml")]
    assert len(files) > 50
    assert not [file for file in files if mode(file) is not None]
    assert {mode(file) for file in sweeps_directory().glob("*.yaml")} == {"MULTIRUN"}


@pytest.mark.parametrize(
    ("words", "times"),
    [
        (["paths.runs=nowhere"], 1),
        (["hydra.verbose=false"], 2),
        (["+hydra.verbose=false"], 2),
        (["--config-dir", "."], 2),
    ],
)
def test_it_is_composed_as_often_as_it_has_to_be(
    words: list[str], times: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    composed: list[str | None] = []
    compose = ConfigLoaderImpl.load_configuration

    def counted(loader: ConfigLoaderImpl, config_name: str | None, *arguments: Any, **settings: Any) -> Any:
        composed.append(config_name)
        return compose(loader, config_name, *arguments, **settings)

    monkeypatch.setattr(ConfigLoaderImpl, "load_configuration", counted)
    monkeypatch.chdir(tmp_path)
    assert main(["status", *words]) == 2, "there are no runs here"
    assert composed == ["status"] * times
