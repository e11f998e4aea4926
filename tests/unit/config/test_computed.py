"""Computed keys are shown, not stated: kinds, the identity of a run, names below paths.runs."""

import copy
from pathlib import Path

import pytest
from composed_once import validated
from hydra.errors import ConfigCompositionException

from aiayn.config.compose import compose_command
from aiayn.config.computed import IDENTITY
from aiayn.config.data_schema import CorpusKind
from aiayn.config.model_schema import KINDS
from aiayn.errors import UserError
from aiayn.sweep.jobs import checked


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("group", KINDS)
def test_the_kind_of_a_model_is_that_of_its_group(kind: str, group: str) -> None:
    words = [f"model={group}", f"model.kind={kind}"]
    if group == "plugin":
        words.append("model.target=aiayn.models.transformer:Transformer")
    if kind == group:
        validated(*words)
        return
    with pytest.raises(UserError, match=rf"^model\.kind={kind}: .* state model={kind} instead$"):
        validated(*words)


def test_the_check_of_a_model_is_of_the_kind_that_is_named() -> None:
    with pytest.raises(UserError, match=r"^model\.kind=recurrent: .* state model=recurrent instead$"):
        checked("check", compose_command("check", ["model.kind=recurrent"]))


@pytest.mark.parametrize("kind", [kind for kind in CorpusKind if kind is not CorpusKind.grammar])
def test_the_kind_of_a_corpus_is_that_of_its_group(kind: CorpusKind) -> None:
    with pytest.raises(UserError, match=rf"^data\.kind={kind}: .* state data=\w+ instead$"):
        validated(f"data.kind={kind}")
    composed = compose_command("prepare")
    composed.data.kind = kind
    with pytest.raises(UserError, match=rf"^data\.kind={kind}: "):
        checked("prepare", composed)


@pytest.mark.parametrize("command", ["train", "prepare", "plan", "check"])
def test_the_identity_of_a_run_is_not_stated(command: str) -> None:
    composed = compose_command(command)
    assert set(composed.identity) == {*IDENTITY}
    for key in IDENTITY:
        stated = copy.deepcopy(composed)
        stated.identity[key] = {"data.path": "../../x"} if key == "typed" else "../../x"
        with pytest.raises(UserError, match=rf"^identity\.{key}=.*\.\./\.\./x.*: computed, not stated: "):
            checked(command, stated)


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
    with pytest.raises((UserError, ConfigCompositionException), match=r"\.\./mine"):  # Hydra 1.4 does not compose it
        checked("train", compose_command("train", [f"hydra.searchpath=[file://{tmp_path}]", "experiment=../mine"]))


def test_the_name_of_a_sweep_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIAYN_SWEEP", "../../x")
    checked("train", compose_command("train"))


def test_an_empty_name_of_a_sweep_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, name in (([], None), (["sweeps=depth_width"], "depth_width")):
        monkeypatch.setenv("AIAYN_SWEEP", "")
        assert checked("train", compose_command("train", words)).identity.sweep == name


def test_the_name_of_a_corpus_is_part_of_the_identity() -> None:
    names = [compose_command("train", [f"data.name={name}"]).identity.name for name in ("mine", "yours")]
    assert names[0] != names[1]
