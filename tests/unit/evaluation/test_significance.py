"""Intervals cover what they claim to, pairing helps, and the metrics are those of the scorer."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from aiayn.evaluation.bleu import bleu_from_statistics, sentence_statistics
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import SentenceScores
from aiayn.evaluation.significance import (
    COLUMNS,
    Floats,
    Interval,
    bleu_scores,
    bootstrap,
    perplexities,
    rank_correlation,
    seeds_to_decide,
    sentence_columns,
    spearman,
)

SENTENCES = 150
LUCK = 0.1
"""Of a sentence in one run, against a spread of 0.5 between sentences."""


def run(
    generator: np.random.Generator, hardness: Floats, *, nll: float = 0.0, match: float = 0.6, seeds: float = 0.0
) -> Floats:
    """Sentences of 20 tokens whose likelihood and matches follow their hardness, the system, its seed, and luck."""
    nll += generator.normal(0, seeds)
    losses = 20 * (2.0 + nll + hardness + generator.normal(0, LUCK, len(hardness)))
    orders = np.arange(1, 5)
    totals = np.tile(21 - orders, (len(hardness), 1))
    chances = np.clip(match - 0.2 * hardness, 0.01, 0.99)[:, None] ** (orders / 2)
    matches = generator.binomial(totals, chances)
    lengths = np.full((len(hardness), 2), 20)
    return np.concatenate([losses[:, None], np.full((len(hardness), 1), 20), lengths, matches, totals], axis=1)


def hard_sentences(generator: np.random.Generator) -> Floats:
    return generator.normal(0, 0.5, SENTENCES)


counts = st.integers(0, 40)


@st.composite
def statistics(draw: st.DrawFn) -> Floats:
    """Columns of one to three sentences as the scorer could have written them, short and wholly wrong ones included."""
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        length, reference = draw(counts), draw(st.integers(1, 40))
        totals = [max(0, length - order) for order in range(4)]
        matches: list[int] = []
        for total in totals:
            matches.append(draw(st.integers(0, min([total, *matches[-1:]]))))
        rows.append([draw(st.floats(0, 300)), reference + 1, length, reference, *matches, *totals])
    return np.array(rows, dtype=np.float64)


@given(statistics())
def test_the_metrics_are_those_of_the_scorer(columns: Floats) -> None:
    sums = columns.sum(axis=0)
    assert bleu_scores(sums) == pytest.approx(bleu_from_statistics(columns[:, 2:].astype(np.int64)), abs=1e-9)
    assert perplexities(sums) == pytest.approx(perplexity(columns[:, 0], columns[:, 1]))


def test_columns_of_real_text_score_as_the_corpus_does() -> None:
    pairs = [("a small cat sat on the mat .", "the cat sat on the mat ."), ("yes", "no"), ("it is so", "so it is !")]
    rows = sentence_statistics([first for first, _ in pairs], [second for _, second in pairs])
    columns = sentence_columns([SentenceScores(1.5, 4, tuple(map(int, row)), 1) for row in rows])
    assert columns.shape == (3, COLUMNS)
    assert bleu_scores(columns.sum(axis=0)) == pytest.approx(bleu_from_statistics(rows))


@pytest.mark.parametrize("seeds", [1, 3])
def test_where_there_is_no_difference_intervals_cover_0_about_95_times_in_100(seeds: int) -> None:
    generator = np.random.default_rng(seeds)
    covered = {"ppl": 0, "bleu": 0}
    trials = 150
    for trial in range(trials):
        hardness = hard_sentences(generator)
        spread = 0.02 if seeds > 1 else 0.0
        systems = [[run(generator, hardness, seeds=spread) for _ in range(seeds)] for _ in range(2)]
        measured = bootstrap(systems, resamples=400, seed=trial)
        for metric in covered:
            interval = getattr(measured, metric).difference(0, 1)
            covered[metric] += interval.low <= 0 <= interval.high
    # Seeds count the chance of a sentence in one run a second time, so there it may be more.
    highest = 1.0 if seeds > 1 else 0.985
    for metric, times in covered.items():
        assert 0.9 <= times / trials <= highest, metric


def test_a_clear_difference_is_seen_with_its_sign_and_swapping_negates_it() -> None:
    generator = np.random.default_rng(0)
    hardness = hard_sentences(generator)
    better, worse = run(generator, hardness, match=0.7), run(generator, hardness, nll=0.1, match=0.6)
    measured, again = (bootstrap([[better], [worse]], resamples=500, seed=1) for _ in range(2))
    assert np.array_equal(measured.ppl.draws, again.ppl.draws)
    assert measured.ppl.difference(0, 1).high < 0
    assert measured.bleu.difference(0, 1).low > 0
    for metric in (measured.ppl, measured.bleu):
        one, other = metric.difference(0, 1), metric.difference(1, 0)
        assert (one.estimate, one.low, one.high) == pytest.approx((-other.estimate, -other.high, -other.low))
        assert one.sentence_variance == pytest.approx(other.sentence_variance)
    assert measured.ppl.values[0] == pytest.approx(perplexity(better[:, 0], better[:, 1]))


def test_pairing_narrows() -> None:
    generator = np.random.default_rng(0)
    hardness = hard_sentences(generator)
    first, second = run(generator, hardness), run(generator, hardness)
    strangers = second[generator.permutation(SENTENCES)]  # the same scores, of other sentences
    for metric in ("ppl", "bleu"):
        paired, unpaired = (
            getattr(bootstrap([[first], [other]], resamples=500, seed=1), metric).difference(0, 1)
            for other in (second, strangers)
        )
        assert paired.estimate == pytest.approx(unpaired.estimate)
        assert paired.sentence_variance < unpaired.sentence_variance / 2
        assert paired.high - paired.low < unpaired.high - unpaired.low


def test_what_seeds_do_widens_also_the_intervals_of_systems_with_one() -> None:
    generator = np.random.default_rng(0)
    hardness = hard_sentences(generator)
    alone = [[run(generator, hardness)], [run(generator, hardness)]]
    several = [run(generator, hardness, seeds=0.1) for _ in range(5)]
    without, informed = (bootstrap(systems, resamples=500, seed=1).ppl for systems in (alone, [*alone, several]))
    assert without.seed_deviation is None
    assert without.difference(0, 1).seed_variance is None
    assert np.isnan(informed.deviations[:2]).all()
    scores = perplexities(np.array([each.sum(axis=0) for each in several]))
    assert informed.seed_deviation == pytest.approx(np.std(scores, ddof=1))
    assert informed.deviations[2] == pytest.approx(informed.seed_deviation)
    narrow, wide = without.difference(0, 1), informed.difference(0, 1)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    assert wide.sentence_variance == pytest.approx(narrow.sentence_variance)


def test_a_system_without_a_perplexity_decides_nothing_and_spoils_no_other() -> None:
    generator = np.random.default_rng(0)
    hardness = hard_sentences(generator)
    broken = run(generator, hardness)
    broken[:, 0] = 1e6
    systems = [[run(generator, hardness, seeds=0.1) for _ in range(2)], [run(generator, hardness)] * 2, [broken] * 2]
    measured = bootstrap(systems, resamples=100, seed=1).ppl
    assert measured.values[2] == math.inf
    assert measured.seed_deviation is not None
    assert math.isfinite(measured.seed_deviation)
    assert math.isfinite(measured.difference(0, 1).low)
    hopeless = measured.difference(2, 2)
    assert math.isnan(hopeless.low)
    assert math.isnan(hopeless.high)


@given(
    distance=st.floats(0.001, 10),
    sentences=st.floats(0, 1),
    seeds=st.floats(1e-6, 100),
)
def test_the_seeds_asked_for_are_the_fewest_that_do(distance: float, sentences: float, seeds: float) -> None:
    assert seeds_to_decide(Interval(distance, 0, 0, sentences, None), distance) is None
    needed = seeds_to_decide(Interval(distance, 0, 0, sentences, seeds), distance)

    def half_width(count: float) -> float:
        return 1.959963984540054 * math.sqrt(sentences + seeds / count)

    if needed is None:
        assert half_width(1e12) >= distance * (1 - 1e-4)
    else:
        assert half_width(needed) < distance * (1 + 1e-6)
        assert needed == 1 or half_width(needed - 1) >= distance * (1 - 1e-6)


def test_spearmans_correlation_of_distinct_ranks_is_the_textbooks() -> None:
    for order in itertools.permutations(range(5)):
        squares = sum((place - rank) ** 2 for place, rank in enumerate(order))
        assert spearman(range(5), order) == pytest.approx(1 - 6 * squares / (5 * 24))


@given(values=arrays.arrays(np.int64, st.integers(2, 12), elements=st.integers(-3, 3)), data=st.data())
def test_ranks_know_nothing_but_order_and_ties_share_theirs(values: np.ndarray, data: st.DataObject) -> None:
    others = data.draw(arrays.arrays(np.int64, len(values), elements=st.integers(-3, 3)))
    correlation = spearman(values, others)
    if len(set(values.tolist())) == 1 or len(set(others.tolist())) == 1:
        assert math.isnan(correlation)
        return
    assert spearman(values, values) == pytest.approx(1)
    assert -1 - 1e-9 <= correlation <= 1 + 1e-9
    assert spearman(np.exp(values), others) == pytest.approx(correlation)
    assert spearman(-values, others) == pytest.approx(-correlation)
    order = data.draw(st.permutations(range(len(values))))
    assert spearman(values[order], others[order]) == pytest.approx(correlation)


def test_a_rank_correlation_is_surer_of_systems_far_apart() -> None:
    generator = np.random.default_rng(0)
    hardness = hard_sentences(generator)
    column = [1.0, 2.0, 3.0, 4.0, 5.0]
    far, near = (
        rank_correlation(
            column, bootstrap([[run(generator, hardness, nll=step * i)] for i in range(5)], resamples=200, seed=1).ppl
        )
        for step in (0.3, 0.001)
    )
    assert far.estimate == far.low == far.high == pytest.approx(1)
    assert near.high - near.low > 0.1
