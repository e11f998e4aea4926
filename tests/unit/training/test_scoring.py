"""Batches are a matter of speed: each sentence has the likelihood and the translation that it has alone."""

import numpy as np
import pytest
import torch

from aiayn.data.prepared import PreparedData
from aiayn.models.transformer import Transformer
from aiayn.training.scoring import Search, sentence_likelihoods, translate_batch, translate_split

CPU = torch.device("cpu")
BUDGETS = [1, 100, 10_000]


@torch.inference_mode()
def forced(model: Transformer, source: list[int], target: list[int], *, bos_id: int) -> float:
    """Negative log-likelihood of one target, token by token through the search's own step."""
    state = model.begin(torch.tensor([source]))
    nll = 0.0
    for read, predicted in zip([bos_id, *target], target, strict=False):
        log_probabilities, state = model.step(torch.tensor([[read]]), state)
        nll -= float(log_probabilities[0, 0, predicted])
    return nll


@pytest.mark.parametrize("budget", BUDGETS)
def test_likelihoods_are_those_of_forced_decoding(model: Transformer, prepared: PreparedData, budget: int) -> None:
    split, bos_id = prepared.split("dev"), prepared.tokenizer.bos_id
    nll, tokens = sentence_likelihoods(model, split, tokens=budget, bos_id=bos_id, device=CPU)
    pairs = zip(split.source, split.target, strict=True)
    alone = [forced(model, source.tolist(), target.tolist(), bos_id=bos_id) for source, target in pairs]
    np.testing.assert_allclose(nll, alone, rtol=1e-4)
    assert tokens.tolist() == [len(target) for target in split.target]


@pytest.mark.parametrize("budget", BUDGETS)
def test_translations_come_in_the_order_of_the_split(model: Transformer, prepared: PreparedData, budget: int) -> None:
    split, tokenizer = prepared.split("dev"), prepared.tokenizer
    search = Search(beam_size=3, length_penalty_alpha=0.6, max_extra_length=2, batch_tokens=budget)
    finished: list[int] = []
    together = translate_split(model, split, tokenizer, search, device=CPU, advance=finished.append)
    alone = [
        tokenizer.decode(translate_batch(model, torch.from_numpy(source[None].astype(np.int64)), tokenizer, search)[0])
        for source in split.source
    ]
    assert together == alone
    assert len(set(alone)) > 1, "with one answer to everything, order would not show"
    assert sum(finished) == len(split)


def test_an_output_is_at_most_so_much_longer_than_its_input(model: Transformer, prepared: PreparedData) -> None:
    tokenizer = prepared.tokenizer
    search = Search(beam_size=2, length_penalty_alpha=0.6, max_extra_length=0, batch_tokens=100)
    for source in prepared.split("test").source:
        (output,) = translate_batch(model, torch.from_numpy(source[None].astype(np.int64)), tokenizer, search)
        assert len(output) <= len(source)
        assert not {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id} & set(output)
