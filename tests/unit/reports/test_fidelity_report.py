from pathlib import Path

import pytest
import yaml

from aiayn.commands.front_end import main
from aiayn.config.compose import compose_command
from aiayn.config.store import conf_directory, options
from aiayn.reports.fidelity import differing_settings

PROFILES = [name for name in options("fidelity") if name != "paper"]


@pytest.mark.parametrize("profile", PROFILES)
def test_what_differs_is_what_the_profile_states(profile: str) -> None:
    stated = yaml.safe_load((conf_directory() / "fidelity" / f"{profile}.yaml").read_text())
    keys = {f"{group}.{name}" for group, values in stated.items() for name in values}
    settings = differing_settings(["paper", profile])
    assert {setting.key for setting in settings} == keys, "nothing is stated that the paper has too"
    assert all(setting.values[0] != setting.values[1] and setting.meaning for setting in settings)


def test_a_profile_is_another_run_but_the_paper_itself() -> None:
    hashes = {name: compose_command("train", [f"fidelity={name}"]).identity.hash for name in ["paper", *PROFILES]}
    assert len({*hashes.values()}) == len(hashes)


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "fidelity", "profiles=[paper,tensor2tensor_2017]"]) == 0
    assert "sinusoidal_blocks" in capsys.readouterr().out
    assert main(["report", "fidelity", f"output={tmp_path / 'profiles.md'}"]) == 0
    page = (tmp_path / "profiles.md").read_text()
    assert all(name in page for name in PROFILES)
    for words, said in (
        (["profiles=[paper]"], "name two or more"),
        (["profiles=[paper,t2t]"], "profiles=t2t: no such profile; choose from"),
        (["output=x.tex"], "choose from .md"),
    ):
        assert main(["report", "fidelity", *words]) == 2
        assert said in capsys.readouterr().err
