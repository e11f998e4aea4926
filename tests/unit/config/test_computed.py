"""Keys that follow from others are shown, not stated: kinds, the identity of a run, names below paths.runs."""

from pathlib import Path

import pytest

from aiayn.config.compose import compose_command
from aiayn.config.data_schema import CorpusKind
from aiayn.config.identity import flatten
from aiayn.config.model_schema import ModelKind
from aiayn.errors import UserError
from aiayn.sweep.jobs import checked

IDENTITY = ("experiment", "scale", "fidelity", "sweep", "hash", "name", "difference", "title")


@pytest.mark.parametrize("kind", ModelKind)
@pytest.mark.parametrize("group", ["transformer", "recurrent", "convolutional"])
def test_the_kind_of_a_model_is_that_of_its_group(kind: ModelKind, group: str) -> None:
    composed = compose_command("train", [f"model={group}", f"model.kind={kind.name}"])
    if kind.name == group:
        checked("train", composed)
        return
    with pytest.raises(UserError, match=rf"^model\.kind={kind.name}: .* state model={kind.name} instead$"):
        checked("train", composed)


@pytest.mark.parametrize("kind", [kind for kind in CorpusKind if kind is not CorpusKind.grammar])
def test_the_kind_of_a_corpus_is_that_of_its_group(kind: CorpusKind) -> None:
    for name in ("train", "prepare"):
        with pytest.raises(UserError, match=rf"^data\.kind={kind.name}: .* state data=\w+ instead$"):
            checked(name, compose_command(name, [f"data.kind={kind.name}"]))


@pytest.mark.parametrize("key", IDENTITY)
def test_the_identity_of_a_run_is_not_stated(key: str) -> None:
    assert set(flatten({"identity": dict.fromkeys(IDENTITY)})) == {f"identity.{name}" for name in IDENTITY}
    assert set(compose_command("train").identity) == {*IDENTITY}
    for name in ("train", "prepare", "plan"):
        with pytest.raises(UserError, match=rf"^identity\.{key}=\.\./\.\./x: computed, not stated: "):
            checked(name, compose_command(name, [f"identity.{key}=../../x"]))


def test_a_row_of_ones_own_states_neither_identity_nor_kind(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    search = f"hydra.searchpath=[file://{tmp_path}]"
    for line, answer in {
        "identity: {name: x}": "identity.name=x: ",
        "model: {kind: recurrent}": "model.kind=rec",
    }.items():
        (tmp_path / "experiment" / "mine.yaml").write_text(f"# @package _global_\n{line}\n")
        with pytest.raises(UserError, match=f"^{answer}"):
            checked("train", compose_command("train", [search, "experiment=mine"]))


def test_an_experiment_does_not_lead_out_of_the_runs(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "mine.yaml").write_text("# @package _global_\n")
    composed = compose_command("train", [f"hydra.searchpath=[file://{tmp_path}]", "experiment=../mine"])
    with pytest.raises(UserError, match=r"^experiment=\.\./mine: "):
        checked("train", composed)


def test_the_name_of_a_sweep_is_one_that_wandb_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIAYN_SWEEP", "../../x")  # a name, no folder
    checked("train", compose_command("train"))
    monkeypatch.setenv("AIAYN_SWEEP", 129 * "x")
    with pytest.raises(UserError, match=r"^AIAYN_SWEEP=x+\.\.\.: has 129 characters, more than 128"):
        checked("train", compose_command("train"))


def test_the_name_of_a_corpus_is_part_of_the_identity() -> None:
    names = [compose_command("train", [f"data.name={name}"]).identity.name for name in ("mine", "yours")]
    assert names[0] != names[1]
