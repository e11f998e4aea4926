"""The bare command is that of table3/base, with any Hydra: these names were recorded with Hydra 1.3."""

from pathlib import Path

import pytest

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
