from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.decoding.beam_search import BeamSearch, EosWithin
from aiayn.decoding.length_penalty import LengthPenalty, length_penalty
from aiayn.errors import RunFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toy_language import ToyLanguage

    from aiayn.decoding.step import Hypothesis

PAD, BOS, EOS = 0, 1, 2
FORBIDDEN = (PAD, BOS)

seeds = st.integers(0, 10**6)
alphas = st.sampled_from([0.0, 0.3, 0.6, 1.0, 2.5])
# Probabilities: all different; tying now and then; tying often; often impossible; both.
kinds = st.sampled_from([(0, 0.0), (30, 0.0), (2, 0.0), (0, 0.6), (3, 0.4)])


def beam_search(
    *,
    beam_size: int = 4,
    alpha: float = 0.6,
    penalty: LengthPenalty = "gnmt",
    n_best: int = 1,
    eos_within: EosWithin = "candidates",
) -> BeamSearch:
    return BeamSearch(
        beam_size=beam_size,
        length_penalty=penalty,
        length_penalty_alpha=alpha,
        start_id=BOS,
        eos_id=EOS,
        forbidden_ids=FORBIDDEN,
        n_best=n_best,
        eos_within=eos_within,
    )


def search(
    language: ToyLanguage, sentences: Sequence[int], limits: Sequence[int], **settings: Any
) -> list[list[Hypothesis]]:
    """All at once; settings as above."""
    max_lengths = torch.tensor(limits, dtype=torch.int64)
    return beam_search(**settings).batch(language.step, language.begin(sentences), max_lengths)


def generated(hypothesis: Hypothesis) -> list[int]:
    return [*hypothesis.tokens, EOS] if hypothesis.finished else [*hypothesis.tokens]


def greedy(language: ToyLanguage, sentence: int, limit: int) -> tuple[list[int], float]:
    """The likeliest token at every step, with plain lists; what was generated, and its log-probability."""
    tokens: list[int] = []
    total = np.float32(0)
    while len(tokens) < limit and EOS not in tokens:
        allowed = language.log_probabilities(sentence, tokens)
        allowed[PAD] = allowed[BOS] = -math.inf
        best = max(range(language.vocabulary), key=lambda token: (allowed[token], -token))
        total += np.float32(allowed[best])
        if total == -math.inf:
            return [], -math.inf
        tokens.append(best)
    return tokens, float(total)


@settings(max_examples=60)
@given(
    seed=seeds, vocabulary=st.integers(3, 9), kind=kinds, alpha=alphas, limits=st.lists(st.integers(1, 8), max_size=5)
)
def test_one_beam_is_greedy_search(
    toy: type[ToyLanguage], seed: int, vocabulary: int, kind: tuple[int, float], alpha: float, limits: list[int]
) -> None:
    language = toy(seed, vocabulary, *kind)
    found = search(language, range(len(limits)), limits, beam_size=1, alpha=alpha)
    expected = [greedy(language, sentence, limit) for sentence, limit in enumerate(limits)]
    assert [(generated(one), one.log_probability) for (one,) in found] == expected


def every_output(language: ToyLanguage, sentence: int, limit: int) -> list[tuple[int, ...]]:
    """All token sequences that end in eos within the limit and are not impossible."""
    words = range(3, language.vocabulary)
    outputs = [(*prefix, EOS) for n in range(limit) for prefix in itertools.product(words, repeat=n)]
    return [output for output in outputs if language.total(sentence, output) > -math.inf]


@settings(max_examples=40)
@given(
    seed=seeds,
    vocabulary=st.integers(3, 6),
    kind=kinds,
    alpha=alphas,
    limit=st.integers(1, 3),
    n_best=st.integers(1, 3),
)
def test_a_beam_wide_enough_for_everything_finds_the_best_of_everything(
    toy: type[ToyLanguage], seed: int, vocabulary: int, kind: tuple[int, float], alpha: float, limit: int, n_best: int
) -> None:
    language = toy(seed, vocabulary, *kind)
    scores = sorted(
        (
            language.total(7, output) / length_penalty(len(output), alpha=alpha, kind="gnmt")
            for output in every_output(language, 7, limit)
        ),
        reverse=True,
    )
    (found,) = search(language, [7], [limit], beam_size=vocabulary**limit, alpha=alpha, n_best=n_best)
    if scores:
        assert [each.score for each in found] == pytest.approx(scores[:n_best], rel=1e-5)
        assert all(each.finished for each in found)
    else:
        assert not any(each.finished for each in found)


def patient_search(
    language: ToyLanguage,
    sentence: int,
    limit: int,
    *,
    beam_size: int,
    alpha: float,
    penalty: LengthPenalty,
    n_best: int,
    eos_within: EosWithin,
) -> list[tuple[list[int], float]]:
    """Beam search of one sentence with plain lists, which goes on to the limit in any case."""
    live: list[tuple[list[int], np.float32]] = [([], np.float32(0))]
    finished: list[tuple[list[int], np.float32]] = []
    for length in range(1, limit + 1):
        divisor = np.float32(length_penalty(length, alpha=alpha, kind=penalty))
        candidates = [
            (path, token, total + np.float32(log_probability))
            for path, total in live
            for token, log_probability in enumerate(language.log_probabilities(sentence, path))
            if token not in FORBIDDEN and log_probability > -math.inf
        ]
        candidates.sort(key=lambda candidate: -candidate[2])  # stable: better parents, then lower tokens first
        candidates = candidates[: 2 * beam_size]
        may_end = candidates if eos_within == "candidates" else candidates[:beam_size]
        finished += [([*path, EOS], total / divisor) for path, token, total in may_end if token == EOS]
        live = [([*path, token], total) for path, token, total in candidates if token != EOS][:beam_size]
    divisor = np.float32(length_penalty(limit, alpha=alpha, kind=penalty))
    ranked = sorted(finished, key=lambda output: -output[1]) or [(path, total / divisor) for path, total in live]
    return [(path, float(score)) for path, score in ranked[:n_best]]


@settings(max_examples=150)
@given(
    seed=seeds,
    vocabulary=st.sampled_from([3, 4, 5, 8, 13, 101, 150]),
    kind=kinds,
    alpha=alphas,
    penalty=st.sampled_from(get_args(LengthPenalty)),
    limits=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    beams=st.tuples(st.integers(2, 5), st.integers(1, 5)).filter(lambda pair: pair[1] <= pair[0]),
    eos_within=st.sampled_from(get_args(EosWithin)),
)
def test_results_are_those_of_a_plain_search_to_the_limit(
    toy: type[ToyLanguage],
    seed: int,
    vocabulary: int,
    kind: tuple[int, float],
    alpha: float,
    penalty: LengthPenalty,
    limits: list[int],
    beams: tuple[int, int],
    eos_within: EosWithin,
) -> None:
    language, (beam_size, n_best) = toy(seed, vocabulary, *kind), beams
    rules: Any = {"beam_size": beam_size, "alpha": alpha, "n_best": n_best, "eos_within": eos_within}
    rules["penalty"] = penalty
    found = search(language, range(len(limits)), limits, **rules)
    for sentence, limit in enumerate(limits):
        expected = patient_search(language, sentence, limit, **rules)
        got = [(generated(each), each.score) for each in found[sentence]]
        assert got == (expected or [([], -math.inf)])


@settings(max_examples=100)
@given(
    seed=seeds,
    vocabulary=st.sampled_from([3, 5, 8, 101]),
    kind=kinds,
    alpha=alphas,
    chunks=st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), max_size=5),
    rooms=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    beams=st.tuples(st.integers(1, 5), st.integers(1, 5)).filter(lambda pair: pair[1] <= pair[0]),
    eos_within=st.sampled_from(get_args(EosWithin)),
)
def test_when_sentences_enter_changes_no_result(
    toy: type[ToyLanguage],
    seed: int,
    vocabulary: int,
    kind: tuple[int, float],
    alpha: float,
    chunks: list[list[int]],
    rooms: list[int],
    beams: tuple[int, int],
    eos_within: EosWithin,
) -> None:
    """Chunks of sentences, with the limits drawn, enter as soon as no more than so many others are there."""
    language, (beam_size, n_best) = toy(seed, vocabulary, *kind), beams
    rules: Any = {"beam_size": beam_size, "alpha": alpha, "n_best": n_best, "eos_within": eos_within}
    limits = [limit for chunk in chunks for limit in chunk]
    waiting, begun, turn = list(chunks), 0, itertools.cycle(rooms)

    def supply(present: Sequence[int]) -> tuple[Any, torch.Tensor] | None:
        nonlocal begun
        assert set(present) <= set(range(begun))
        if not waiting or len(present) >= next(turn):
            return None
        chunk = waiting.pop(0)
        begun += len(chunk)
        return language.begin(range(begun - len(chunk), begun)), torch.tensor(chunk)

    found = dict(beam_search(**rules).stream(language.step, supply))
    assert [found[number] for number in range(begun)] == search(language, range(begun), limits, **rules)
    assert begun == len(limits)


def test_others_enter_while_some_are_still_searched(toy: type[ToyLanguage]) -> None:
    language, chunks = toy(seed=3, vocabulary=5), [(range(6), 12), (range(6, 12), 12)]
    asked: list[list[int]] = []

    def supply(present: Sequence[int]) -> tuple[Any, torch.Tensor] | None:
        asked.append([*present])
        if not chunks or len(present) > 3:
            return None
        sentences, limit = chunks.pop(0)
        return language.begin(sentences), torch.full((6,), limit)

    left = [number for number, _ in beam_search().stream(language.step, supply)]
    assert sorted(left) == list(range(12))
    assert asked[0] == []
    assert asked[-1] == []
    assert max(language.batches[1:]) > 6, "else the second six have waited for the first to be done"


def test_eos_within_the_beam_ends_fewer() -> None:
    """The end is third among the first continuations, where a beam of two does not look for it."""
    table = torch.zeros(6, 6)
    table[BOS, 3], table[BOS, 4], table[BOS, EOS] = 0.4, 0.35, 0.25
    table[3, 5] = table[4, 5] = 1.0
    table[5, 5], table[5, EOS] = 0.5, 0.5
    assert markov_search(table, beam_size=2, eos_within="candidates")[0].tokens == ()
    assert markov_search(table, beam_size=2, eos_within="beam")[0].tokens == (3, 5)


def test_finished_sentences_leave_the_batch(toy: type[ToyLanguage]) -> None:
    language, sentences, limit = toy(seed=3, vocabulary=5), range(12), 12
    steps = []
    for sentence in sentences:
        language.batches.clear()
        search(language, [sentence], [limit])
        steps.append(len(language.batches))
    assert len(set(steps)) > 2  # they end at different times, else this shows nothing
    assert min(steps) < limit
    language.batches.clear()
    search(language, sentences, [limit] * len(sentences))
    assert language.batches == [sum(ran >= step for ran in steps) for step in range(1, max(steps) + 1)]


class MarkovState:
    """The last token is all that counts, and the step is given it."""

    def reorder(self, beams: torch.Tensor) -> None: ...

    def keep(self, sentences: torch.Tensor) -> None: ...

    def join(self, other: MarkovState) -> None: ...


def markov_search(
    table: torch.Tensor,
    *,
    beam_size: int,
    alpha: float = 0.0,
    limit: int = 4,
    eos_within: EosWithin = "candidates",
) -> tuple[Hypothesis, int]:
    """The best output of a model with the probabilities [last token, next token], and the number of steps taken."""
    steps = 0

    def step(tokens: torch.Tensor, state: MarkovState) -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal steps
        steps += 1
        return table[tokens].log(), torch.zeros(tokens.shape)

    limits = torch.tensor([limit])
    ((best,),) = beam_search(beam_size=beam_size, alpha=alpha, eos_within=eos_within).batch(step, MarkovState(), limits)
    return best, steps


def test_nothing_possible_is_an_empty_output_at_once() -> None:
    best, steps = markov_search(torch.zeros(4, 4), beam_size=3)
    assert steps == 1
    assert (best.tokens, best.score, best.finished) == ((), -math.inf, False)


def test_model_that_diverged_is_told() -> None:
    with pytest.raises(RunFailedError, match="nan"):
        markov_search(torch.full((4, 4), math.nan), beam_size=2)


@pytest.mark.parametrize(
    "setting", [{"beam_size": 0}, {"n_best": 0}, {"beam_size": 2, "n_best": 3}, {"alpha": -0.1}, {"alpha": math.nan}]
)
def test_settings_out_of_range_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=r"beams|alpha"):
        beam_search(**setting)
