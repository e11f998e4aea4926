"""Searches that are held to well-formed brackets, beside a description of these by rewriting and by enumeration."""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.decoding.beam_search import BeamSearch
from aiayn.decoding.constraint import ConstrainedState, constrained
from aiayn.decoding.length_penalty import length_penalty
from aiayn.errors import UserError
from aiayn.extensions.parsing.open_brackets import BracketVocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toy_language import ToyLanguage

    from aiayn.decoding.step import Hypothesis

PAD, BOS, EOS, OTHER = range(4)
WRITTEN = {4: "(S ", 7: "(N ", 9: ")S ", 5: ")N ", 6: "x ", 8: "x "}  # in no order that a test could rely on
VOCABULARY = 11
DEEP = (50, 50)
"""Limits of depth and of openings in a row that no output here reaches."""


def brackets(max_depth: int, max_openings: int) -> BracketVocabulary:
    return BracketVocabulary.of(
        [(4, 9), (7, 5)],
        [6, 8],
        eos_id=EOS,
        vocabulary_size=VOCABULARY,
        max_depth=max_depth,
        max_openings=max_openings,
        device=torch.device("cpu"),
    )


def well_formed(tokens: Sequence[int], words: int, max_depth: int, max_openings: int) -> bool:
    """Whether tokens without eos become one word when each pair of brackets around words is taken for a word."""
    if any(token not in WRITTEN for token in tokens):
        return False
    text = "".join(WRITTEN[token] for token in tokens)
    depths = itertools.accumulate({"(": 1, ")": -1}.get(WRITTEN[token][0], 0) for token in tokens)
    longest = max((len(run[0]) // 3 for run in re.finditer(r"(\(. )+", text)), default=0)
    if text.count("x") != words or max(depths, default=0) > max_depth or longest > max_openings:
        return False
    earlier, shorter = "", text
    while shorter != earlier:
        earlier, shorter = shorter, re.sub(r"\((.) (x )+\)\1 ", "x ", shorter)
    return shorter == ("x " if words else "")


@functools.cache
def contents(words: int, room: int) -> list[tuple[int, ...]]:
    """All that may stand within brackets, or be left of that: so many words, and no more tokens than there is room."""
    if not words:
        return [()]
    if room < words:
        return []
    found = [(word, *rest) for word in (6, 8) for rest in contents(words - 1, room - 1)]
    for inside in range(1, words + 1):
        for inner in contents(inside, room - 2):
            for rest in contents(words - inside, room - 2 - len(inner)):
                found += [(4, *inner, 9, *rest), (7, *inner, 5, *rest)]
    return found


@functools.cache
def every_output(words: int, limit: int, max_depth: int, max_openings: int) -> list[tuple[int, ...]]:
    """All that is well formed and not longer than the limit, eos included."""
    inner = contents(words, limit - 3)
    outputs: list[tuple[int, ...]]
    outputs = [(opening, *each, closing) for each in inner for opening, closing in ((4, 9), (7, 5))] if words else [()]
    outputs += [(6,), (8,)] if words == 1 else []
    return [(*each, EOS) for each in outputs if well_formed(each, words, max_depth, max_openings)]


def beam_search(*, beam_size: int, alpha: float = 0.6, n_best: int = 1) -> BeamSearch:
    return BeamSearch(
        beam_size=beam_size,
        length_penalty_alpha=alpha,
        start_id=BOS,
        eos_id=EOS,
        forbidden_ids=(PAD, BOS),
        n_best=n_best,
    )


def begun(
    language: ToyLanguage,
    sentences: Sequence[int],
    words: Sequence[int],
    limits: Sequence[int],
    bounds: tuple[int, int],
) -> tuple[Any, torch.Tensor]:
    max_lengths = torch.tensor(limits, dtype=torch.int64)
    constraint = brackets(*bounds).begin(torch.tensor(words, dtype=torch.int64), max_lengths)
    return ConstrainedState(language.begin(sentences), constraint), max_lengths


def search(
    language: ToyLanguage,
    sentences: Sequence[int],
    words: Sequence[int],
    limits: Sequence[int],
    *,
    bounds: tuple[int, int] = DEEP,
    **settings: Any,
) -> list[list[Hypothesis]]:
    state, max_lengths = begun(language, sentences, words, limits, bounds)
    return beam_search(**settings).batch(constrained(language.step), state, max_lengths)


def limits_of(words: Sequence[int], extras: Sequence[int]) -> list[int]:
    """So many tokens more than the fewest that are enough."""
    return [count + (3 if count > 1 else 1) + extra for count, extra in zip(words, extras, strict=True)]


seeds = st.integers(0, 10**6)
levels = st.sampled_from([0, 30, 2])  # of probabilities: all different, tying now and then, tying often
alphas = st.sampled_from([0.0, 0.3, 2.5])
sentence_sizes = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 12)), min_size=1, max_size=5)
every_bound = st.tuples(st.integers(1, 4), st.integers(1, 3)) | st.just(DEEP)
small_sizes = st.sampled_from([(0, 3), (1, 2), (1, 8), (2, 7), (3, 8)])
"""Words and limits of which every output can be listed."""


@settings(max_examples=50)
@given(seed=seeds, levels=levels, alpha=alphas, sizes=sentence_sizes, bounds=every_bound, beam_size=st.integers(1, 12))
def test_every_output_is_finished_and_well_formed_over_its_words(
    toy: type[ToyLanguage],
    seed: int,
    levels: int,
    alpha: float,
    sizes: list[tuple[int, int]],
    bounds: tuple[int, int],
    beam_size: int,
) -> None:
    words, extras = zip(*sizes, strict=True)
    language, limits = toy(seed, VOCABULARY, levels), limits_of(words, extras)
    rules: Any = {"beam_size": beam_size, "alpha": alpha, "n_best": beam_size, "bounds": bounds}
    found = search(language, range(len(words)), words, limits, **rules)
    for listed, count, limit in zip(found, words, limits, strict=True):
        assert all(each.finished and each.length <= limit for each in listed)
        assert all(well_formed(each.tokens, count, *bounds) for each in listed)


@settings(max_examples=15)
@given(size=small_sizes, bounds=every_bound)
def test_allowed_is_whatever_some_well_formed_output_goes_on_with(
    size: tuple[int, int], bounds: tuple[int, int]
) -> None:
    outputs = every_output(*size, *bounds)
    followers: dict[tuple[int, ...], set[int]] = {}
    for output in outputs:
        for place, token in enumerate(output):
            followers.setdefault(output[:place], set()).add(token)
    words, limits = torch.tensor([size] * len(outputs)).unbind(dim=1)
    constraint = brackets(*bounds).begin(words, limits)
    for place, column in enumerate(itertools.zip_longest(*[(BOS, *output) for output in outputs], fillvalue=EOS)):
        constraint.read(torch.tensor(column).unsqueeze(1))
        for output, allowed in zip(outputs, constraint.allowed()[:, 0], strict=True):
            if place < len(output):
                assert set(allowed.nonzero().flatten().tolist()) == followers[output[:place]]


@settings(max_examples=15)
@given(seed=seeds, levels=levels, alpha=alphas, size=st.sampled_from([(1, 7), (2, 6), (3, 6)]))
def test_a_beam_wide_enough_finds_the_best_well_formed_outputs_by_the_scores_of_the_model(
    toy: type[ToyLanguage], seed: int, levels: int, alpha: float, size: tuple[int, int]
) -> None:
    language, (words, limit) = toy(seed, VOCABULARY, levels), size
    outputs = every_output(*size, *DEEP)
    scores = sorted(
        (language.total(0, output) / length_penalty(len(output), alpha=alpha, kind="gnmt") for output in outputs),
        reverse=True,
    )
    (found,) = search(language, [0], [words], [limit], beam_size=len(outputs), n_best=3, alpha=alpha)
    assert [each.score for each in found] == pytest.approx(scores[:3], rel=1e-5)


@settings(max_examples=25)
@given(
    seed=seeds,
    levels=levels,
    sizes=sentence_sizes,
    bounds=every_bound,
    beam_size=st.integers(1, 5),
    rooms=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    data=st.data(),
)
def test_a_sentence_gets_the_same_result_whoever_is_searched_with_it(
    toy: type[ToyLanguage],
    seed: int,
    levels: int,
    sizes: list[tuple[int, int]],
    bounds: tuple[int, int],
    beam_size: int,
    rooms: list[int],
    data: st.DataObject,
) -> None:
    """In any order, two entering as soon as no more than so many others are there."""
    words, extras = zip(*sizes, strict=True)
    language, limits, turn = toy(seed, VOCABULARY, levels), limits_of(words, extras), itertools.cycle(rooms)
    order = data.draw(st.permutations(range(len(words))))
    waiting = [order[start : start + 2] for start in range(0, len(order), 2)]

    def supply(present: Sequence[int]) -> tuple[Any, torch.Tensor] | None:
        if not waiting or len(present) >= next(turn):
            return None
        chunk = waiting.pop(0)
        chosen = [words[sentence] for sentence in chunk], [limits[sentence] for sentence in chunk]
        return begun(language, chunk, *chosen, bounds)

    together = dict(beam_search(beam_size=beam_size).stream(constrained(language.step), supply))
    for number, sentence in enumerate(order):
        alone = search(language, [sentence], [words[sentence]], [limits[sentence]], bounds=bounds, beam_size=beam_size)
        assert together[number] == alone[0]


def test_limit_without_room_for_brackets_is_named() -> None:
    with pytest.raises(UserError, match=r"limit 6: brackets around 4 words take at least 7 tokens"):
        brackets(*DEEP).begin(torch.tensor([2, 4]), torch.tensor([6, 6]))
