import re
from pathlib import Path

import pytest
import yaml

from aiayn.commands.front_end import main
from aiayn.config.compose import compose_command
from aiayn.config.store import conf_directory, options
from aiayn.errors import UserError
from aiayn.reports.fidelity import GROUPS, differing_settings, report_fidelity

PROFILES = [name for name in options("fidelity") if name != "paper"]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_differences_are_the_settings_of_the_profile(profile: str) -> None:
    stated = yaml.safe_load((conf_directory() / "fidelity" / f"{profile}.yaml").read_text())
    keys = {f"{group}.{name}" for group, values in stated.items() for name in values}
    settings = list(differing_settings(["paper", profile]))
    assert {key for key, *_ in settings} == keys, "nothing is stated that the paper has too"
    assert all(paper != other and meaning for _, paper, other, meaning in settings)


def test_the_documentation_has_every_difference() -> None:
    page = (Path(__file__).parents[3] / "docs/fidelity.md").read_text()
    names = ["paper", "fairseq", "tensor2tensor_2017", "tensor2tensor_final"]
    assert {*names} == {"paper", *PROFILES}
    expected = [f"| `{key}` | {' | '.join(values)} |" for key, *values, _ in differing_settings(names)]
    assert re.findall(rf"^\| `(?:{'|'.join(GROUPS)})\..*$", page, re.MULTILINE) == expected


def test_profiles_are_different_runs() -> None:
    hashes = {name: compose_command("train", [f"fidelity={name}"]).identity.hash for name in ["paper", *PROFILES]}
    assert len({*hashes.values()}) == len(hashes)


@pytest.mark.slow
def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "fidelity", "profiles=[paper,tensor2tensor_2017]"]) == 0
    assert "sinusoidal_blocks" in capsys.readouterr().out
    assert main(["report", "fidelity", f"output={tmp_path / 'profiles.md'}"]) == 0
    page = (tmp_path / "profiles.md").read_text()
    assert all(name in page for name in PROFILES)
    assert main(["report", "fidelity", "output=x.tex"]) == 2
    assert "choose from .md" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("profiles", "message"),
    [(["paper"], "name two or more"), (["paper", "t2t"], "profiles=t2t: no such profile; choose from")],
)
def test_unknown_and_single_profiles_are_refused(profiles: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        report_fidelity(profiles, None)
