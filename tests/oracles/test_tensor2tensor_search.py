"""Our beam search finds the same outputs as the authors' code of June 2017."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import pytest
import tensor2tensor as t2t
import torch
from composed_once import composed
from oracle import Oracle
from tape import Array
from tensor2tensor_profile import PROFILE, TINY, hparams_of, padded, random_model, reference, their_form
from torch import Tensor

from aiayn.decoding.beam_search import BeamSearch
from aiayn.decoding.candidates import ranked
from aiayn.decoding.step import Hypothesis
from aiayn.flat_tokens import FlatTokens

LIBRARY = t2t.NAME

START, EOS, END = 0, 1, 2
"""Ids, the end marks of the authors' code and of our models."""

Logits: TypeAlias = Callable[[int, Sequence[int], int], Array]
"""Logits of the next id, given the sentence's number, the generated ids, and the beam's rank."""


@dataclass
class Prefixes:
    """The ids that the beams of each sentence have read; a `DecodingState`."""

    sentences: Tensor
    """int64 [sentences]."""
    read: Tensor
    """int64 [sentences, beam, length]."""

    def reorder(self, beams: Tensor) -> None:
        self.read = torch.take_along_dim(self.read, beams.unsqueeze(-1), dim=1)

    def keep(self, sentences: Tensor) -> None:
        self.sentences, self.read = self.sentences[sentences], self.read[sentences]

    def join(self, other: Self) -> None:
        raise AssertionError("all sentences begin together")


@dataclass(frozen=True)
class Settings:
    """Settings of a search, for both implementations."""

    sentences: int
    beam_size: int
    limit: int
    alpha: float


def found_here(logits: Logits, settings: Settings, *, n_best: int = 1) -> list[list[Hypothesis]]:
    def step(tokens: Tensor, state: Prefixes) -> tuple[Tensor, Tensor]:
        state.read = torch.cat([state.read, tokens.unsqueeze(-1)], dim=-1)
        rows = [
            [logits(sentence, prefix[1:], rank) for rank, prefix in enumerate(prefixes)]
            for sentence, prefixes in zip(state.sentences.tolist(), state.read.tolist(), strict=True)
        ]
        scores = torch.from_numpy(np.array(rows)).float()
        return scores, scores.logsumexp(-1)

    state = Prefixes(torch.arange(settings.sentences), torch.empty(settings.sentences, 1, 0, dtype=torch.int64))
    search = searcher(settings, eos_id=EOS, n_best=n_best)
    return search.batch(step, state, torch.full((settings.sentences,), settings.limit))


def searcher(settings: Settings, *, eos_id: int, n_best: int) -> BeamSearch:
    """Nothing is forbidden: the authors' search generates any id."""
    return BeamSearch(
        beam_size=settings.beam_size,
        length_penalty_alpha=settings.alpha,
        start_id=START,
        eos_id=eos_id,
        forbidden_ids=(),
        n_best=n_best,
    )


def found_there(logits: Logits, settings: Settings) -> list[list[t2t.Beam]]:
    def symbols_to_logits(ids: t2t.Ids) -> Array:
        beams = settings.beam_size
        return np.array([logits(row // beams, prefix[1:], row % beams) for row, prefix in enumerate(ids.tolist())])

    start = [START] * settings.sentences
    return t2t.beam_search(
        symbols_to_logits,
        start,
        beam_size=settings.beam_size,
        decode_length=settings.limit,
        alpha=settings.alpha,
        eos_id=EOS,
    )


@dataclass(frozen=True)
class Case:
    """One of the tests of utils/beam_search_test.py; every search begins with id 0, and 1 is the end mark."""

    alpha: float
    probabilities: list[list[list[list[float]]]]
    """[position][sentence][beam][id]."""
    ids: list[list[list[int]]]
    """[sentence][beam], from the start on; 0 behind the end."""
    scores: list[list[float]]

    def logits(self, sentence: int, prefix: Sequence[int], rank: int) -> Array:
        beams = self.probabilities[len(prefix)][sentence]
        return np.log(beams[rank])


FIRST = [[0.1, 0.1, 0.8], [0.1, 0.1, 0.8]]
SECOND = [[0.4, 0.5, 0.1], [0.2, 0.4, 0.4]]
THIRD = [[0.05, 0.9, 0.05], [0.4, 0.4, 0.2]]
LONG, SHORT = (8 / 6) ** 3.5, (7 / 6) ** 3.5
"""The length penalties of three and of two ids."""

PUBLISHED = {
    "testGreedyBatchOne": Case(
        alpha=0.0,
        probabilities=[[[[0.7, 0.3]]], [[[0.4, 0.6]]], [[[0.5, 0.5]]]],
        ids=[[[0, 0, 1]]],
        scores=[[np.log(0.7 * 0.6)]],
    ),
    "testNotGreedyBeamTwo": Case(
        alpha=0.0,
        probabilities=[[FIRST], [SECOND], [THIRD]],
        ids=[[[0, 2, 1, 0], [0, 2, 0, 1]]],
        scores=[[np.log(0.8 * 0.5), np.log(0.8 * 0.4 * 0.9)]],
    ),
    "testGreedyWithCornerCase": Case(
        alpha=0.0,
        probabilities=[[[[0.2, 0.1, 0.7]]], [[[0.4, 0.1, 0.5]]]],
        ids=[[[0, 2, 2]]],
        scores=[[np.log(0.7 * 0.5)]],
    ),
    "testNotGreedyBatchTwoBeamTwoWithAlpha": Case(
        alpha=3.5,
        probabilities=[[FIRST, FIRST], [SECOND, [[0.3, 0.6, 0.1], [0.2, 0.4, 0.4]]], [THIRD, THIRD]],
        ids=[[[0, 2, 0, 1], [0, 2, 1, 0]], [[0, 2, 1, 0], [0, 2, 0, 1]]],
        scores=[
            [np.log(0.8 * 0.4 * 0.9) / LONG, np.log(0.8 * 0.5) / SHORT],
            [np.log(0.8 * 0.6) / SHORT, np.log(0.8 * 0.3 * 0.9) / LONG],
        ],
    ),
    "testNotGreedyBeamTwoWithAlpha": Case(
        alpha=3.5,
        probabilities=[[FIRST], [SECOND], [THIRD]],
        ids=[[[0, 2, 0, 1], [0, 2, 1, 0]]],
        scores=[[np.log(0.8 * 0.4 * 0.9) / LONG, np.log(0.8 * 0.5) / SHORT]],
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_both_searches_pass_the_published_cases(oracle: Oracle, name: str) -> None:
    case = PUBLISHED[name]
    settings = Settings(len(case.ids), len(case.ids[0]), len(case.probabilities), case.alpha)
    there = found_there(case.logits, settings)
    assert [[list(beam.ids) for beam in beams] for beams in there] == case.ids
    np.testing.assert_allclose([[beam.score for beam in beams] for beams in there], case.scores)
    here = found_here(case.logits, settings, n_best=settings.beam_size)
    expected = [[without_padding(ids[1:]) for ids in beams] for beams in case.ids]
    assert [[generated(one) for one in beams] for beams in here] == expected
    scores = [[one.score for one in beams] for beams in here]
    oracle.agrees("beam search, the published cases: scores", scores, case.scores, tolerance=1e-6)


@pytest.mark.parametrize(
    ("scores", "best"), [([-0.1, -2.5, 0.0, -1.5], [2, 0, 3]), ([-100.0, -5.0, -0.00789, -1.34], [2, 3, 1])]
)
def test_both_rankings_pass_the_published_case(scores: list[float], best: list[int]) -> None:
    """testComputeTopkScoresAndSeq."""
    beams = [t2t.Beam((place,), 0.0, score, is_finished=False) for place, score in enumerate(scores)]
    assert [beam.ids[0] for beam in t2t.best(beams, 3)] == best
    assert ranked(torch.tensor([scores]), 3).tolist() == [best]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.5])
@pytest.mark.parametrize(("beam_size", "vocabulary", "limit"), [(2, 4, 12), (4, 9, 10), (5, 30, 6), (4, 6, 1)])
def test_the_best_outputs_of_random_language_models(
    oracle: Oracle, beam_size: int, vocabulary: int, limit: int, alpha: float
) -> None:
    def logits(sentence: int, prefix: Sequence[int], rank: int) -> Array:
        return np.random.default_rng([vocabulary, sentence, *prefix]).normal(size=vocabulary, scale=2.0)

    settings = Settings(20, beam_size, limit, alpha)
    here, there = found_here(logits, settings), found_there(logits, settings)
    agree(oracle, "beam search, random language models", here, there)
    for several, theirs in zip(found_here(logits, settings, n_best=beam_size), there, strict=True):
        finished = [beam.score for beam in theirs if beam.is_finished]  # fewer where their search ends earlier
        assert all(one.score > score - 1e-5 for one, score in zip(several, finished, strict=False))
        assert len(several) >= len(finished)


def test_the_best_outputs_of_a_model_with_random_weights(oracle: Oracle) -> None:
    config = composed("experiment=table3/base", *PROFILE, *TINY)
    model, hparams = random_model(config).eval(), hparams_of(config)
    with torch.no_grad():
        model.embedding.weight[0] = 0.0  # our search never reads padding; theirs embeds it as zeros
    rng = np.random.default_rng(6)
    sources = [[*rng.integers(3, hparams.vocab_size, length).tolist(), END] for length in rng.integers(1, 7, 100)]
    settings = Settings(len(sources), hparams.decode_beam_size, 10, hparams.decode_alpha)
    here = searcher(settings, eos_id=END, n_best=1).batch(
        model.step, model.begin(FlatTokens.of(sources)), torch.full((len(sources),), settings.limit)
    )
    theirs = reference(hparams, their_form(dict(model.named_parameters())))
    inputs = np.repeat(padded(*FlatTokens.of(sources)), settings.beam_size, axis=0)

    def symbols_to_logits(ids: t2t.Ids) -> Array:
        """t2t_model.py: _beam_decode. The last of the targets is any id: its logits do not depend on it."""
        targets = np.pad(ids[:, 1:], ((0, 0), (0, 1)))
        logits: Array = theirs.logits(inputs, targets).value[:, -1]
        return logits

    there = t2t.beam_search(
        symbols_to_logits,
        [START] * settings.sentences,
        beam_size=settings.beam_size,
        decode_length=settings.limit,
        alpha=settings.alpha,
        eos_id=END,
    )
    agree(oracle, "beam search, a model with random weights", here, there, eos_id=END)


def agree(
    oracle: Oracle,
    what: str,
    here: Sequence[Sequence[Hypothesis]],
    there: Sequence[Sequence[t2t.Beam]],
    eos_id: int = EOS,
) -> None:
    """The best output of each sentence has the same ids, and the same log-probability."""
    own, theirs = [each[0] for each in here], [each[0] for each in there]
    differ = [
        generated(one, eos_id) != without_padding(beam.ids[1:], eos_id) for one, beam in zip(own, theirs, strict=True)
    ]
    oracle.agrees(f"{what}: share of outputs that differ", np.mean(differ), 0.0, tolerance=0)
    log_probabilities = [one.log_probability for one in own], [beam.log_probability for beam in theirs]
    oracle.agrees(f"{what}: log-probabilities", *log_probabilities, tolerance=1e-5)


def generated(one: Hypothesis, eos_id: int = EOS) -> list[int]:
    return [*one.tokens, eos_id] if one.finished else [*one.tokens]


def without_padding(ids: Sequence[int], eos_id: int = EOS) -> list[int]:
    """Up to the first end mark."""
    return [*ids[: ids.index(eos_id) + 1]] if eos_id in ids else [*ids]
