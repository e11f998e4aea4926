"""Table 2 as configuration: the models of Table 3 on the paper's two corpora, scored as means of checkpoints."""

from typing import Any

import pytest
from composed_once import composed

from aiayn.config.freeze import plain
from aiayn.config.identity import flatten
from aiayn.config.model_schema import DecoderStart, TransformerConfig
from aiayn.config.schema import TrainConfig
from aiayn.config.store import conf_directory
from aiayn.config.validation import validate
from aiayn.paper.recipe import load_recipe
from aiayn.reports.tables.table2 import PAIRS, PREFIX, ROWS

EXPERIMENTS = [f"{model}_{pair}" for pair in PAIRS for model in ROWS]
SCALES = ("demo", "paper")
"""The smallest and the largest."""


def row_of(experiment: str, scale: str) -> TrainConfig:
    return composed(f"experiment={experiment}", f"scale={scale}")


def settings(experiment: str, scale: str = "paper") -> dict[str, Any]:
    leaves = flatten(plain(row_of(experiment, scale)))
    return {key: value for key, value in leaves.items() if not key.startswith(("identity.", "callbacks."))}


def test_there_is_a_file_for_both_models_and_both_language_pairs() -> None:
    files = {path.stem for path in (conf_directory() / "experiment" / PREFIX).glob("*.yaml")}
    assert files == set(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_a_row_of_table_3_with_what_section_5_and_6_say_of_its_corpus(name: str) -> None:
    recipe = load_recipe()
    model, _, pair = name.partition("_")
    row, own = settings(f"table3/{model}"), settings(f"{PREFIX}{name}")
    changed = {key: value for key, value in own.items() if value != row.get(key)}
    assert changed.pop("averaging.checkpoints") == recipe.training[model].averaged_checkpoints
    assert changed.pop("averaging.interval") == {"base": 1500, "big": 600}[model]
    if pair == "en_de":
        assert changed == {}
        return
    assert changed.pop("data.name") == "wmt14_en_fr"
    assert changed.pop("data.target_language") == "fr"
    assert changed.pop("data.subset") == "fr-en"
    for key, value in recipe.corpora["en-fr"].settings.items():
        assert getattr(changed.pop(key), "name", own[key]) == value
    assert changed == (dict(recipe.big_en_fr) if model == "big" else {})


@pytest.mark.long
@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("profile", ["tensor2tensor_2017", "tensor2tensor_final"])
def test_the_authors_code_has_a_wider_untied_model_for_french_alone(name: str, profile: str) -> None:
    words = f"experiment={PREFIX}{name}", f"fidelity={profile}"
    for scale, width in (("paper", 1.0), ("demo", 0.25)):
        model, plain_model = composed(*words, f"scale={scale}").model, row_of(f"{PREFIX}{name}", scale).model
        assert isinstance(model, TransformerConfig)
        assert isinstance(plain_model, TransformerConfig)
        is_french = name == "big_en_fr"
        assert model.d_ff == (8192 * width if is_french else plain_model.d_ff)
        assert model.tied_embeddings is not is_french
        assert model.dropout == plain_model.dropout
        has_rows = profile == "tensor2tensor_2017" and name.endswith("en_de")
        assert (model.vocabulary_rows is not None) == has_rows
        assert model.decoder_start == DecoderStart.zeros


@pytest.mark.long
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_valid_at_both_ends_of_the_scales(name: str, scale: str) -> None:
    config = row_of(f"{PREFIX}{name}", scale)
    validate(config)
    assert config.averaging.interval is not None
    assert config.averaging.checkpoints * config.averaging.interval <= config.optimization.max_steps
