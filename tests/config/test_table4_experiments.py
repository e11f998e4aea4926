"""Table 4 as configuration: Table 3's base with what section 6.3 says of parsing."""

from fnmatch import fnmatchcase
from typing import Any

import pytest
from composed_once import composed

from aiayn.commands.front_end import main
from aiayn.config.compose import compose_command
from aiayn.config.freeze import plain
from aiayn.config.identity import flatten
from aiayn.config.store import conf_directory
from aiayn.config.validation import validate
from aiayn.paper.tables import load_table4

EXPERIMENTS = {
    "wsj_only": ("WSJ only", ["data.path=/wsj"]),
    "semi_supervised": ("semi-supervised", ["data.path=/wsj"]),
}
"""The training that the paper's row has, and what a user has to state."""
OTHER_TREES = {
    "wsj_only": ["data=toy_trees"],
    "semi_supervised": ["data=treebank", "data.train=a", "data.dev=b", "data.test=c", "data.silver=d"],
}
SCALES = ("demo", "paper")
"""The smallest and the largest."""
SECTIONS = {"train": range(2, 22), "dev": [22], "test": [23]}


def settings(*overrides: str) -> dict[str, Any]:
    leaves = flatten(plain(composed(*overrides, "scale=paper")))
    return {key: value for key, value in leaves.items() if key.split(".")[0] not in ("identity", "callbacks", "data")}


def test_there_is_a_file_for_either_training() -> None:
    assert {path.stem for path in (conf_directory() / "experiment" / "table4").glob("*.yaml")} == EXPERIMENTS.keys()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_base_with_what_section_6_3_states(name: str) -> None:
    table = load_table4()
    training, stated = EXPERIMENTS[name]
    base, own = settings("experiment=table3/base"), settings(f"experiment=table4/{name}", *stated)
    changed = {key: value for key, value in own.items() if value != base.get(key)}
    assert changed.pop("tokenizer.kind") == "symbols"
    assert changed.pop("tokenizer.vocabulary_size") == table.training[training]["vocabulary_size"]
    widths = {key: changed.pop(key) for key in ("model.d_k", "model.d_v")}
    assert set(widths.values()) == {own["model.d_model"] // own["model.num_heads"]}
    assert changed == dict(table.settings)


CODE = {
    "wsj_only": {
        "model.dropout": 0.2,
        "model.attention_dropout": 0.2,
        "model.tied_embeddings": False,
        "optimization.learning_rate_factor": 0.5,
        "optimization.warmup_steps": 16_000,
    },
    "semi_supervised": {
        "model.d_ff": 4096,
        "model.num_heads": 16,
        "model.d_k": 64,
        "model.d_v": 64,
        "optimization.learning_rate_factor": 0.5,
    },
}
"""transformer_parsing_base and transformer_parsing_big of Tensor2Tensor 1.0.6, without the settings of base."""


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_authors_code_of_2017_has_values_that_the_text_lacks(name: str) -> None:
    words = [f"experiment=table4/{name}", *EXPERIMENTS[name][1]]
    text, code = settings(*words), settings(*words, "fidelity=tensor2tensor_2017")
    profile, base = settings("fidelity=tensor2tensor_2017"), settings()
    of_profile = {key for key, value in profile.items() if value != base.get(key)}
    changed = {key: value for key, value in code.items() if value != text.get(key) and key not in of_profile}
    assert changed == CODE[name]
    assert {key for key in of_profile if code[key] != profile[key]} == {"model.vocabulary_rows"}
    assert code["model.vocabulary_rows"] is None, "40,960 rows are those of English-German"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_other_profiles_keep_their_own_values(name: str) -> None:
    words = [f"experiment=table4/{name}", *EXPERIMENTS[name][1]]
    last = settings(*words, "fidelity=tensor2tensor_final")
    assert (last["optimization.learning_rate_factor"], last["model.activation_dropout"]) == (2.0, 0.1)
    assert last["model.attention_dropout"] == {"wsj_only": 0.2, "semi_supervised": 0.1}[name]
    assert last["decoding.max_extra_length"] == 300, "the profile's value is of translation"
    assert settings(*words, "fidelity=fairseq")["model.attention_dropout"] == 0.0


@pytest.mark.parametrize("name", ["wsj", "wsj_silver"])
def test_the_sections_are_the_papers(name: str) -> None:
    data = compose_command("train", [f"data={name}"]).data
    for split, sections in SECTIONS.items():
        named = [data[split]] if isinstance(data[split], str) else list(data[split])
        folders = [f"{number:02}" for number in range(25)]
        expected = [f"{number:02}" for number in sections]
        assert [each for each in folders if any(fnmatchcase(each, pattern) for pattern in named)] == expected


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_valid_at_both_ends_of_the_scales_on_either_corpus(name: str, scale: str) -> None:
    for stated in (EXPERIMENTS[name][1], OTHER_TREES[name]):
        validate(composed(f"experiment=table4/{name}", *stated, f"scale={scale}"))


@pytest.mark.parametrize("data", ["wsj", "wsj_silver", "treebank"])
def test_semi_supervised_is_never_without_silver_trees(data: str) -> None:
    words = ["experiment=table4/semi_supervised", f"data={data}", "data.path=trees", "data.train=a", "data.dev=b"]
    assert compose_command("train", [*words, "data.test=c"]).data.silver == "silver"
    assert compose_command("train", [*words, "data.test=c", "data.silver=d"]).data.silver == "d"


def test_semi_supervised_refuses_a_corpus_without_silver_trees(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "experiment=table4/semi_supervised", "data=toy_trees"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("aiayn: data.silver: a key of data.kind=trees, not of the kind chosen; choose another ")
    assert "with data=, or leave it out" in complaint
    assert complaint.count("\n") == 1
