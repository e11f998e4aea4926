"""One search with the largest alpha holds what the searches with all smaller ones find."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.decoding.beam_search import BeamSearch, EosWithin
from aiayn.decoding.length_penalty import LengthPenalty, length_penalty
from aiayn.decoding.reranking import reranked
from aiayn.decoding.step import Hypothesis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toy_language import ToyLanguage

PAD, BOS, EOS = 0, 1, 2

seeds = st.integers(0, 10**6)
# Probabilities: all different; tying now and then; tying often; often impossible; both.
kinds = st.sampled_from([(0, 0.0), (30, 0.0), (2, 0.0), (0, 0.6), (3, 0.4)])
ways_to_end = st.sampled_from(["candidates", "beam"])
penalties = st.sampled_from(get_args(LengthPenalty))


def searcher(
    beam_size: int,
    alpha: float,
    eos_within: EosWithin,
    *,
    penalty: LengthPenalty = "gnmt",
    of_each_length: bool = False,
) -> BeamSearch:
    return BeamSearch(
        beam_size=beam_size,
        length_penalty=penalty,
        length_penalty_alpha=alpha,
        start_id=BOS,
        eos_id=EOS,
        forbidden_ids=(PAD, BOS),
        eos_within=eos_within,
        of_each_length=of_each_length,
    )


def found(language: ToyLanguage, search: BeamSearch, limits: Sequence[int]) -> list[list[Hypothesis]]:
    state = language.begin(range(len(limits)))
    return search.batch(language.step, state, torch.tensor(limits, dtype=torch.int64))


@settings(max_examples=60)
@given(
    seed=seeds,
    vocabulary=st.integers(3, 9),
    kind=kinds,
    beam_size=st.integers(1, 5),
    alphas=st.lists(st.integers(0, 40).map(lambda tenths: tenths / 10), min_size=1, max_size=4),
    limits=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    eos_within=ways_to_end,
    penalty=penalties,
)
def test_reranked_is_searched(
    toy: type[ToyLanguage],
    seed: int,
    vocabulary: int,
    kind: tuple[int, float],
    beam_size: int,
    alphas: list[float],
    limits: list[int],
    eos_within: EosWithin,
    penalty: LengthPenalty,
) -> None:
    language = toy(seed, vocabulary, *kind)
    widest = searcher(beam_size, max(alphas), eos_within, penalty=penalty, of_each_length=True)
    pools = found(language, widest, limits)
    for alpha in alphas:
        alone = searcher(beam_size, alpha, eos_within, penalty=penalty)
        expected = [best for (best,) in found(language, alone, limits)]
        assert [reranked(pool, alpha=alpha, kind=penalty)[0] for pool in pools] == expected


@settings(max_examples=30)
@given(seed=seeds, vocabulary=st.integers(3, 5), kind=kinds, limit=st.integers(1, 3))
def test_a_search_that_misses_nothing_has_the_best_of_each_length(
    toy: type[ToyLanguage], seed: int, vocabulary: int, kind: tuple[int, float], limit: int
) -> None:
    language = toy(seed, vocabulary, *kind)
    (pool,) = found(language, searcher(vocabulary**limit, 10.0, "candidates", of_each_length=True), [limit])
    assert [each.score for each in pool] == sorted((each.score for each in pool), reverse=True)
    ended = [each for each in pool if each.finished]
    assert len({each.length for each in ended}) == len(ended)
    for each in ended:
        words = itertools.product(range(3, vocabulary), repeat=each.length - 1)
        assert each.log_probability == pytest.approx(max(language.total(0, (*output, EOS)) for output in words))


@given(st.lists(st.tuples(st.floats(-50, 0), st.integers(0, 20)), min_size=1, max_size=8), st.floats(0, 10), penalties)
def test_scores_are_log_probabilities_over_the_penalty(
    drawn: list[tuple[float, int]], alpha: float, penalty: LengthPenalty
) -> None:
    pool = [Hypothesis((5,) * words, total, score=0.0, finished=True) for total, words in drawn]
    ranked = reranked(pool, alpha=alpha, kind=penalty)
    assert sorted((each.tokens, each.log_probability) for each in ranked) == sorted(
        (each.tokens, each.log_probability) for each in pool
    )
    for each in ranked:
        assert each.score == pytest.approx(
            each.log_probability / length_penalty(len(each.tokens) + 1, alpha=alpha, kind=penalty), rel=1e-6, abs=1e-37
        )
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
