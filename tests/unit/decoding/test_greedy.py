from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.config.errors import RunFailedError
from aiayn.decoding.greedy import greedy_search
from aiayn.decoding.step import Hypothesis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.decoding.conftest import ToyLanguage

PAD, BOS, EOS = 0, 1, 2


def search(language: ToyLanguage, sentences: Sequence[int], limits: Sequence[int]) -> list[Hypothesis]:
    return greedy_search(
        language.step,
        language.begin(sentences),
        max_lengths=torch.tensor(limits, dtype=torch.int64),
        bos_id=BOS,
        eos_id=EOS,
        forbidden_ids=(PAD, BOS),
    )


def step_by_step(language: ToyLanguage, sentence: int, limit: int) -> Hypothesis:
    """Greedy search of one sentence with plain lists."""
    tokens: list[int] = []
    total = torch.zeros(())
    while len(tokens) < limit:
        allowed = [*language.log_probabilities(sentence, tokens)]
        allowed[PAD] = allowed[BOS] = -math.inf
        best = max(range(language.vocabulary), key=lambda token: (allowed[token], -token))
        total = total + allowed[best]
        if total == -math.inf:
            return Hypothesis((), -math.inf, -math.inf, finished=False)
        if best == EOS:
            return Hypothesis(tuple(tokens), float(total), float(total), finished=True)
        tokens.append(best)
    return Hypothesis(tuple(tokens), float(total), float(total), finished=False)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    vocabulary=st.integers(3, 9),
    levels=st.sampled_from([0, 2]),
    dead=st.sampled_from([0.0, 0.6]),
    limits=st.lists(st.integers(1, 8), max_size=5),
)
def test_takes_the_likeliest_token_of_every_step(
    toy: type[ToyLanguage], seed: int, vocabulary: int, levels: int, dead: float, limits: list[int]
) -> None:
    language = toy(seed, vocabulary, levels=levels, dead=dead)
    found = search(language, range(len(limits)), limits)
    assert found == [step_by_step(language, sentence, limit) for sentence, limit in enumerate(limits)]


def test_finished_sentences_leave_the_batch(toy: type[ToyLanguage]) -> None:
    language, sentences, limit = toy(seed=1, vocabulary=5), range(12), 9
    steps = []
    for sentence in sentences:
        language.batches.clear()
        search(language, [sentence], [limit])
        steps.append(len(language.batches))
    assert len(set(steps)) > 2  # they end at different times, else this shows nothing
    language.batches.clear()
    search(language, sentences, [limit] * len(sentences))
    assert language.batches == [sum(ran >= step for ran in steps) for step in range(1, max(steps) + 1)]


def test_nothing_possible_is_an_empty_output_at_once(toy: type[ToyLanguage]) -> None:
    language = toy(seed=1, vocabulary=5, dead=1.0)
    assert search(language, [0, 1], [4, 5]) == [Hypothesis((), -math.inf, -math.inf, finished=False)] * 2
    assert language.batches == [2]


def test_model_that_diverged_is_told(toy: type[ToyLanguage]) -> None:
    language = toy(seed=1, vocabulary=5)
    state = language.begin([0])
    with pytest.raises(RunFailedError, match="nan"):
        greedy_search(
            lambda tokens, _: (torch.full((*tokens.shape, 5), math.nan), torch.zeros(tokens.shape)),
            state,
            max_lengths=torch.tensor([3]),
            bos_id=BOS,
            eos_id=EOS,
            forbidden_ids=(PAD, BOS),
        )
