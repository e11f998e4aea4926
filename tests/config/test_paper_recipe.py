"""No number of conf/ contradicts the paper: the paper's scale is its recipe."""

from typing import Any

import pytest
from composed_once import composed

from aiayn.config.freeze import plain
from aiayn.config.identity import flatten
from aiayn.paper.recipe import Item, load_recipe
from aiayn.paper.tables import load_table4

RECIPE = load_recipe()


def settings(*overrides: str) -> dict[str, Any]:
    """Every value at the paper's scale, by dotted key."""
    return flatten(plain(composed(*overrides, "scale=paper")))


@pytest.fixture(scope="module")
def paper_scale() -> dict[str, Any]:
    return settings()


@pytest.mark.parametrize("item", RECIPE.settings, ids=lambda item: item.key)
def test_the_paper_scale_has_the_papers_settings(item: Item, paper_scale: dict[str, Any]) -> None:
    assert paper_scale[item.key] == item.value
    assert type(paper_scale[item.key]) is type(item.value)


@pytest.mark.parametrize("model", RECIPE.training)
def test_both_models_train_for_the_papers_steps(model: str) -> None:
    assert settings(f"experiment=table3/{model}")["optimization.max_steps"] == RECIPE.training[model].steps


@pytest.mark.parametrize("model", RECIPE.training)
def test_both_models_average_the_papers_checkpoints_ten_minutes_apart(model: str) -> None:
    """For the big model no interval is stated; it is taken to be base's."""
    facts = RECIPE.training[model]
    minutes = facts.checkpoint_minutes or RECIPE.training["base"].checkpoint_minutes
    assert minutes is not None
    averaging = settings("experiment=positions/none", f"averaging={model}")
    assert averaging["averaging.checkpoints"] == facts.averaged_checkpoints
    assert averaging["averaging.interval"] == round(minutes * 60 / facts.seconds_per_step)


@pytest.mark.parametrize("pair", RECIPE.corpora)
def test_corpora_have_the_papers_vocabulary_and_splits(pair: str) -> None:
    corpus = RECIPE.corpora[pair]
    composed = settings(f"data=wmt14_{pair.replace('-', '_')}", f"tokenizer={corpus.settings['tokenizer.kind']}")
    assert {key: composed[key] for key in corpus.settings} == dict(corpus.settings)
    assert f"{composed['data.source_language']}-{composed['data.target_language']}" == pair
    for split, sentences in RECIPE.splits.items():
        assert composed[f"data.sentences.{split}"] == sentences
    assert composed["data.sentences.train"] in (None, corpus.pairs)


def test_the_paper_scale_trains_english_german_by_default(paper_scale: dict[str, Any]) -> None:
    assert (paper_scale["data.name"], paper_scale["tokenizer.kind"]) == ("wmt14_en_de", "byte_pair")


def test_what_the_paper_does_not_mention_is_not_done(paper_scale: dict[str, Any]) -> None:
    assert paper_scale["trainer.gradient_clip_val"] is None
    assert not [key for key in paper_scale if "weight_decay" in key]
    assert {paper_scale["model.attention_dropout"], paper_scale["model.activation_dropout"]} == {0.0}


def test_what_the_paper_varies_elsewhere_has_a_key(paper_scale: dict[str, Any]) -> None:
    big = settings("experiment=table3/big")
    for changes, changed in ((load_table4().settings, paper_scale), (RECIPE.big_en_fr, big)):
        assert changes.keys() <= changed.keys()
        assert all(changed[key] != value for key, value in changes.items())
