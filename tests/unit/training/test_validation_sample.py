"""The score of a validation is that of the run's search on fixed sentences, and has no side effects."""

import copy
from dataclasses import replace

import pytest
import tiny
import torch

from aiayn.data.preparation.prepared import PreparedData
from aiayn.evaluation.bleu import corpus_bleu
from aiayn.evaluation.samples import spread
from aiayn.models.transformer import Transformer
from aiayn.training.scoring import search_all
from aiayn.training.validation_sample import ValidationSample

CPU = torch.device("cpu")
SEARCH = replace(tiny.SEARCH, beam_size=2, max_extra_length=3, batch_tokens=60)


@pytest.fixture(scope="module")
def translated(model: Transformer, prepared: PreparedData) -> list[str]:
    """The translation of every sentence of dev."""
    found = search_all(model, prepared.split("dev").source, prepared.tokenizer, SEARCH, device=CPU)
    return prepared.tokenizer.decode_batch(best.tokens for best, *_ in found)


@pytest.mark.parametrize("sentences", [1, 5, 13, 1000])
def test_the_score_is_that_of_the_search_on_these_sentences(
    model: Transformer, prepared: PreparedData, translated: list[str], sentences: int
) -> None:
    dev = prepared.split("dev")
    chosen = spread(len(dev), sentences)
    references = dev.target_lines()
    expected = corpus_bleu([translated[index] for index in chosen], [references[index] for index in chosen]).score
    sample = ValidationSample(prepared, SEARCH, sentences=sentences, bleu_tokenizer="13a")
    assert sample.score(model, device=CPU) == pytest.approx(expected, abs=1e-9)


def test_model_and_random_state_are_unchanged(model: Transformer, prepared: PreparedData) -> None:
    before = copy.deepcopy(model.state_dict())
    chance = torch.get_rng_state()
    ValidationSample(prepared, SEARCH, sentences=5, bleu_tokenizer="13a").score(model, device=CPU)
    assert torch.equal(torch.get_rng_state(), chance)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name])
    assert all(weight.grad is None and weight.requires_grad for weight in model.parameters())
