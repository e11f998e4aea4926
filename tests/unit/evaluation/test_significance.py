"""Intervals cover what they claim to, pairing helps, and the metrics are those of the scorer."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from aiayn.evaluation.bleu import bleu_from_statistics
from aiayn.evaluation.decisions import Hypothesis, decide
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import SentenceScores
from aiayn.evaluation.significance import (
    Floats,
    Measured,
    ScoreOfSums,
    SeedNoise,
    bleu_influences,
    bleu_scores,
    contrast_errors,
    log_perplexities,
    log_perplexity_influences,
    measure,
    perplexities,
    sentence_columns,
)

SENTENCES = 150
LUCK = 0.1
"""Of a sentence in one run, against a spread of 0.5 between sentences."""


def run(
    generator: np.random.Generator,
    hardness: Floats,
    *,
    match: float = 0.6,
    seeds: float = 0.0,
    luck: float = LUCK,
) -> Floats:
    """Sentences of 20 tokens whose likelihood and matches follow their hardness, the system, its seed, and luck."""
    level = 2.0 + generator.normal(0, seeds)
    losses = 20 * (level + hardness + generator.normal(0, luck, len(hardness)))
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
def sentences(draw: st.DrawFn) -> list[SentenceScores]:
    """One to three sentences as the scorer could have written them, short and wholly wrong ones included."""
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        length, reference = draw(counts), draw(st.integers(1, 40))
        totals = [max(0, length - order) for order in range(4)]
        matches: list[int] = []
        for total in totals:
            matches.append(draw(st.integers(0, min([total, *matches[-1:]]))))
        statistics = (length, reference, *matches, *totals)
        rows.append(SentenceScores(draw(st.floats(0, 300)), reference + 1, 1, statistics))
    return rows


@given(sentences())
def test_the_metrics_are_those_of_the_scorer(rows: list[SentenceScores]) -> None:
    sums = sentence_columns(rows).sum(axis=0)
    expected = bleu_from_statistics(np.array([row.bleu_statistics for row in rows]))
    assert bleu_scores(sums) == pytest.approx(expected, abs=1e-9)
    assert perplexities(sums) == pytest.approx(perplexity([row.nll for row in rows], [row.tokens for row in rows]))


@given(sentences(), st.integers(0, 2), st.floats(1e-6, 1e-4))
def test_influences_are_the_change_of_a_score_as_a_sentence_weighs_more(
    rows: list[SentenceScores], number: int, weight: float
) -> None:
    number, columns = number % len(rows), sentence_columns(rows)
    sums = columns.sum(axis=0)
    heavier = sums + weight * columns[number]
    for score, influences in (
        (log_perplexities, log_perplexity_influences(columns)),
        (bleu_scores, bleu_influences(columns)),
    ):
        if score is bleu_scores and sums[2] == sums[3]:
            continue  # the brevity penalty has a corner there
        change = float(score(heavier) - score(sums)) / weight
        assert influences[number] == pytest.approx(change, rel=0.02, abs=0.02)


@pytest.mark.parametrize(
    ("seeds", "own", "luck", "spread"),
    [
        ((3, 3, 3, 3), 0.0, 0.1, 0.02),  # by seeds
        ((6, 6, 6, 6), 0.0, 0.6, 0.02),  # by the sentences' share of the variance between seeds: not counted twice
        ((8, 2, 4, 4), 0.3, 0.1, 0.005),  # by how systems find the sentences
        ((2, 8, 4, 4), 0.0, 0.1, 0.02),
    ],
)
def test_where_there_is_no_difference_intervals_cover_0_about_95_times_in_100(
    seeds: tuple[int, ...], own: float, luck: float, spread: float
) -> None:
    generator = np.random.default_rng(sum(seeds))
    covered = {"ppl": 0, "bleu": 0}
    trials = 250
    for _ in range(trials):
        hardness = hard_sentences(generator)
        found = [hardness + generator.normal(0, own, SENTENCES) for _ in seeds]
        systems = [
            [run(generator, each, seeds=spread, luck=luck) for _ in range(count)]
            for each, count in zip(found, seeds, strict=True)
        ]
        measured = measure(systems)
        for metric in covered:
            effect = getattr(measured, metric).difference(0, 1)
            covered[metric] += effect.low <= 0 <= effect.high
    for metric, times in covered.items():
        assert 0.91 <= times / trials <= 0.995, metric


def test_the_variances_of_seeds_and_sentences_are_recovered() -> None:
    generator = np.random.default_rng(1)
    noises, beyond = [], []
    own = [generator.normal(0, 0.3, SENTENCES) for _ in range(2)]  # how either system finds each sentence
    for _ in range(40):
        drawn = generator.integers(0, SENTENCES, SENTENCES)
        systems = [[run(generator, each[drawn], seeds=0.03, luck=0.2) for _ in range(4)] for each in own]
        measured = measure(systems).ppl
        assert measured.noise is not None
        noises.append(measured.noise)
        beyond.append(measured.sentence_variance({0: 1.0, 1: -1.0}))
    share = 0.2**2 / SENTENCES
    assert np.mean([noise.sentence_share for noise in noises]) == pytest.approx(share, rel=0.1)
    assert np.mean([noise.variance for noise in noises]) == pytest.approx(0.03**2 + share, rel=0.25)
    assert np.mean(beyond) == pytest.approx(np.var(own[0] - own[1]) / SENTENCES, rel=0.15)


def test_scores_are_means_over_seeds_and_perplexities_differ_by_their_logarithms() -> None:
    generator = np.random.default_rng(0)
    hardness = hard_sentences(generator)
    systems = [[run(generator, hardness, match=match) for _ in range(3)] for match in (0.7, 0.6)]
    measured = measure(systems)

    def means(score: ScoreOfSums) -> list[float]:
        return [float(np.mean([score(each.sum(axis=0)) for each in system])) for system in systems]

    for found, score, compared in (
        (measured.ppl, perplexities, log_perplexities),
        (measured.bleu, bleu_scores, bleu_scores),
    ):
        assert found.values == pytest.approx(means(score))
        first, second = means(compared)
        assert found.difference(0, 1).estimate == pytest.approx(first - second)


def test_pairing_narrows() -> None:
    generator = np.random.default_rng(0)
    hardness = hard_sentences(generator)
    first, second = ([run(generator, hardness) for _ in range(2)] for _ in range(2))
    strangers = [one[generator.permutation(SENTENCES)] for one in second]  # the same scores, of other sentences
    for metric in ("ppl", "bleu"):
        paired, unpaired = (getattr(measure([first, other]), metric) for other in (second, strangers))
        assert paired.difference(0, 1).estimate == pytest.approx(unpaired.difference(0, 1).estimate)
        assert paired.sentence_variance({0: 1.0, 1: -1.0}) < unpaired.sentence_variance({0: 1.0, 1: -1.0}) / 2


def test_a_system_without_a_likelihood_spoils_no_other() -> None:
    generator = np.random.default_rng(0)
    hardness = hard_sentences(generator)
    broken = run(generator, hardness)
    broken[:, 0] = math.inf
    systems = [[run(generator, hardness, seeds=0.1) for _ in range(2)], [run(generator, hardness)] * 2, [broken] * 2]
    with np.errstate(invalid="ignore"):
        measured = measure(systems).ppl
        assert math.isinf(measured.values[2])
        assert measured.difference(0, 1).content == measure(systems[:2]).ppl.difference(0, 1).content
        hopeless = measured.difference(2, 0)
        assert hopeless.error is not None
        assert math.isnan(hopeless.error)


def with_values(*systems: Sequence[float]) -> Measured:
    """Systems whose seeds have these values, on sentences that all systems find alike."""
    runs = [[run(np.random.default_rng(0), np.zeros(2), luck=0.0)] * len(each) for each in systems]
    return measure(runs).ppl.with_compared([np.array(each) for each in systems])


samples = st.lists(st.floats(-10, 10), min_size=2, max_size=8)


@pytest.mark.parametrize("pooled", [True, False])
@given(first=samples, second=samples)
def test_a_difference_of_two_systems_is_students_pooled_and_welchs_else(
    first: list[float], second: list[float], pooled: bool
) -> None:
    assume(min(np.ptp(first), np.ptp(second)) > 1e-3)
    effect = with_values(first, second).contrast({0: 1.0, 1: -1.0}, pooled=pooled)
    oracle = ttest_ind(first, second, equal_var=pooled)
    assert effect.error is not None
    assert effect.freedom == pytest.approx(oracle.df)
    assert (effect.low, effect.high) == pytest.approx(tuple(oracle.confidence_interval()), rel=1e-6, abs=1e-9)
    columns = [np.array([each]) for each in (effect.estimate, effect.error, effect.freedom)]
    greater, less = (
        ttest_ind(first, second, equal_var=pooled, alternative=side).pvalue for side in ("greater", "less")
    )
    for sign, expected in ((1, (greater, less)), (-1, (less, greater))):
        found = decide([Hypothesis({}, sign)], *columns)
        assert (found.p_supported.item(), found.p_contradicted.item()) == pytest.approx(expected, abs=1e-9)


WEIGHTS = np.array([[1.0, -0.5, -0.5], [1.0, -1.0, 0.0]])
VARIANCES, SEEDS = np.array([10.0, 24.0, 32.0]), np.array([5, 6, 8])


def test_a_contrast_of_three_systems_has_satterthwaites_degrees_of_freedom() -> None:
    """Variances of 2, 1 and 1 with 4, 5 and 7 degrees of freedom: 4² / (2²/4 + 1²/5 + 1²/7)."""
    errors, freedoms = contrast_errors(VARIANCES, SEEDS, WEIGHTS[:1], np.zeros(1), pooled=False)
    assert (errors.item(), freedoms.item()) == pytest.approx((2.0, 16 / (1 + 1 / 5 + 1 / 7)))
    with_sentences, same = contrast_errors(VARIANCES, SEEDS, WEIGHTS[:1], np.array([5.0]), pooled=False)
    assert (with_sentences.item(), same.item()) == pytest.approx((3.0, freedoms.item())), "those of the seeds alone"
    errors, freedoms = contrast_errors(VARIANCES, SEEDS, WEIGHTS[:1], np.zeros(1), pooled=True)
    pooled = (4 * 10 + 5 * 24 + 7 * 32) / 16
    assert (errors.item(), freedoms.item()) == pytest.approx((math.sqrt(pooled * (1 / 5 + 1 / 24 + 1 / 32)), 16))


@pytest.mark.parametrize("unknown", ["one seed", "no finite score"])
def test_a_system_of_unknown_variance_spoils_only_its_own_contrasts(unknown: str) -> None:
    variances, seeds = VARIANCES.copy(), SEEDS.copy()
    if unknown == "one seed":
        seeds[2], variances[2] = 1, 0.0
    else:
        variances[2] = math.nan
    errors, freedoms = contrast_errors(variances, seeds, WEIGHTS, np.zeros(2), pooled=False)
    assert np.isnan(errors).tolist() == [True, False]
    alone = contrast_errors(variances[:2], seeds[:2], WEIGHTS[1:, :2], np.zeros(1), pooled=False)
    assert (errors[1], freedoms[1]) == (alone[0].item(), alone[1].item())
    assert contrast_errors(variances, seeds, WEIGHTS, np.zeros(2), pooled=True)[1].tolist() == [9, 9]


def test_one_seed_has_the_variance_of_the_others_and_none_of_its_own() -> None:
    alone, informed = with_values([1.0], [2.0]), with_values([1.0, 2.0], [1.0], [3.0, 5.0])
    assert alone.noise is None
    unknown = alone.difference(0, 1)
    assert (unknown.error, unknown.low, unknown.high) == (None, None, None)
    assert np.isnan(informed.deviations).tolist() == [False, True, False]
    assert informed.noise is not None
    assert (informed.noise.deviation, informed.noise.freedom) == pytest.approx((math.sqrt((0.5 + 2) / 2), 2))
    assert informed.difference(0, 1).error == pytest.approx(informed.noise.deviation * math.sqrt(1 / 2 + 1))
    assert informed.contrast({0: 1.0, 1: -1.0}, pooled=False).error is None
    assert informed.contrast({0: 1.0, 2: -1.0}, pooled=False).error is not None


@pytest.mark.parametrize("pooled", [True, False])
def test_identical_runs_have_no_variance(pooled: bool) -> None:
    same = with_values([1.0, 1.0], [0.5, 0.5]).contrast({0: 1.0, 1: -1.0}, pooled=pooled)
    assert (same.low, same.high) == (0.5, 0.5)


@given(st.lists(samples, min_size=3, max_size=3), st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_contrasts_are_weighted_sums_of_the_values_that_are_compared(
    values: list[list[float]], weights: list[float]
) -> None:
    effect = with_values(*values).contrast(dict(enumerate(weights)), pooled=False)
    assert effect.estimate == pytest.approx(weights @ np.array([*map(np.mean, values)]), abs=1e-9)
    parts = [weight**2 * np.var(each, ddof=1) / len(each) for weight, each in zip(weights, values, strict=True)]
    assert effect.error == pytest.approx(math.sqrt(sum(parts)), abs=1e-9)


@given(st.floats(1e-4, 10), st.integers(1, 50))
def test_the_upper_bound_of_a_variance_holds_in_80_of_100_samples(variance: float, freedom: int) -> None:
    generator = np.random.default_rng(freedom)
    estimates = variance * generator.chisquare(freedom, 2000) / freedom
    held = [SeedNoise(float(each), 0.0, freedom, 0.0, 0.0).upper_variance(0.8) >= variance for each in estimates]
    assert 0.76 <= np.mean(held) <= 0.84
