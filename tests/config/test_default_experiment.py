"""The bare command is that of table3/base, with any Hydra: these names were recorded with Hydra 1.3."""

from pathlib import Path

import pytest

from aiayn.commands.front_end import main
from aiayn.config.compose import compose_command

BARE: list[str] = []
STATED = ["experiment=table3/base"]


@pytest.mark.parametrize("words", [BARE, STATED], ids=["bare", "stated"])
def test_identity_folder_and_title(words: list[str]) -> None:
    identity = compose_command("train", words).identity
    assert identity.name == "table3/base/demo-seed1-75f8540e"
    assert (identity.experiment, identity.hash, identity.title) == ("table3/base", "75f8540e", "base seed 1")


@pytest.mark.parametrize("words", [BARE, STATED], ids=["bare", "stated"])
@pytest.mark.parametrize("profile", ["paper", "fairseq"])
def test_values_of_a_profile_for_base_alone(words: list[str], profile: str, tmp_path: Path) -> None:
    file = tmp_path / "fidelity_for" / "table3" / "base" / f"{profile}.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("# @package _global_\nmodel:\n  dropout: 0.25\n")
    words = [*words, f"fidelity={profile}", f"hydra.searchpath=['file://{tmp_path}']"]
    assert compose_command("train", words).model.dropout == 0.25


def test_another_experiment_replaces_the_default(tmp_path: Path) -> None:
    assert compose_command("train", ["experiment=table3/a_h1"]).model.num_heads == 1
    assert compose_command("train", ["experiment=table2/base_en_fr", "fidelity=tensor2tensor_2017"]).identity.hash


def test_an_own_folder_of_the_alias_name_is_no_alias(tmp_path: Path) -> None:
    file = tmp_path / "experiment" / "table3_base" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("# @package _global_\nmodel:\n  dropout: 0.25\n")
    found = compose_command("train", ["experiment=table3_base/mine", f"hydra.searchpath=['file://{tmp_path}']"])
    assert (found.identity.experiment, found.model.dropout) == ("table3_base/mine", 0.25)


@pytest.mark.parametrize("name", ["experiment/table3_base.yaml", "experiment/table3/base.yaml", "scale/demo.yaml"])
def test_an_own_file_that_would_not_be_read_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text("# @package _global_\nmodel:\n  dropout: 0.25\n")
    assert main(["train", "--config-dir", str(tmp_path), "--cfg", "job"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"aiayn: {file}: is not read, since ")
    assert said.endswith("; rename it\n")
