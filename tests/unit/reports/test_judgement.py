"""Whole tables judged: the order of verdicts, gates, and the levels and power in simulated tables."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.evaluation.decisions import Noise
from aiayn.evaluation.significance import Floats, measure
from aiayn.paper.claims import Claim, Comparison, Converged, Gate, Metric, OverFitting, load_claims
from aiayn.paper.tables import load_table3
from aiayn.reports.claim_grids import claim_grids, effect_remarks, interval_remarks, seeds_needed_text
from aiayn.reports.gates import RowFall, convergence_remarks, failed_gate, last_fall
from aiayn.reports.judgement import (
    JudgedClaim,
    MeasuredRows,
    judge_claims,
    judge_comparisons,
    own_noises,
    power_of,
)
from aiayn.reports.numbers import effect_text
from aiayn.reports.power import claim_powers, power_grid
from aiayn.reports.verdicts import Verdict, verdict_of

SENTENCES = 100
FLAT = {900: 5.0, 1000: 4.99}
STEEP = {900: 5.0, 1000: 4.5}
CLAIMS = load_claims()
ROWS = [row.id for row in load_table3().rows]
PAPER = {row.id: Metric.ppl.difference(row.ppl.number, 1.0) for row in load_table3().rows}


def simulated_row(
    generator: np.random.Generator,
    hardness: Floats,
    seeds: int,
    *,
    mean: float,
    seed_noise: float,
    own: float,
    luck: float,
) -> list[Floats]:
    """The sentences of a row's runs: 20 tokens each, and matches that are the same in all."""
    of_row = hardness + generator.normal(0, own, len(hardness))
    runs = []
    for _ in range(seeds):
        losses = mean + of_row + generator.normal(0, seed_noise) + generator.normal(0, luck, len(hardness))
        columns = np.tile(np.array([0.0, 20, 20, 20, 12, 8, 5, 3, 20, 19, 18, 17]), (len(hardness), 1))
        columns[:, 0] = 20 * losses
        columns[:, 4] += generator.integers(0, 2, len(hardness))
        runs.append(columns)
    return runs


def table(
    generator: np.random.Generator,
    means: Mapping[str, float],
    seeds: Mapping[str, int],
    *,
    seed_noise: float = 0.012,
    own: float = 0.02,
    luck: float = 0.1,
    louder: Sequence[str] = (),
) -> MeasuredRows:
    """Rows with these true log perplexities; sentences are drawn anew; `louder` rows vary three times as much."""
    hardness = generator.normal(0, 0.5, SENTENCES)
    noises = {row: seed_noise * (3 if row in louder else 1) for row in means}
    systems = [
        simulated_row(generator, hardness, seeds[row], mean=mean, seed_noise=noises[row], own=own, luck=luck)
        for row, mean in means.items()
    ]
    return MeasuredRows(measure(systems), {row: n for n, row in enumerate(means)})


def judged(rows: MeasuredRows, claims: Sequence[Claim] = CLAIMS, **others: Mapping[int, float]) -> list[JudgedClaim]:
    curves = {row: [others.get(row, FLAT)] for row in rows.places}
    return list(judge_claims(claims, rows, curves, base="base", noises=None))


def verdicts(rows: MeasuredRows, claims: Sequence[Claim]) -> dict[str, Verdict]:
    """Of claims whose gates are met, without regard to power."""
    found = {}
    tested = judge_comparisons([claim.primary for claim in claims], rows, [[True] * len(c.primary) for c in claims])
    for claim, comparisons in zip(claims, tested, strict=True):
        outcomes = ([each.verdict is wanted for each in comparisons] for wanted in DECIDED)
        found[claim.id] = verdict_of(*outcomes, is_tested=True, power=None)
    return found


DECIDED = (Verdict.reproduced, Verdict.contradicted)
ONE = Claim("mine", "Mine is better.", (Comparison(Metric.ppl, "mine", "base", None, -0.03),))
TWO_ROWS = {"base": 1.6, "mine": 1.6}


@pytest.mark.parametrize(
    ("supported", "contradicted", "is_tested", "power", "verdict"),
    [
        ([True, True], [False, False], True, 0.1, Verdict.reproduced),
        ([True, False], [False, True], True, 0.1, Verdict.contradicted),
        ([True, False], [False, False], True, 0.79, Verdict.under_powered),
        ([True, False], [False, False], True, 0.81, Verdict.undecided),
        ([True, False], [False, False], True, None, Verdict.undecided),
        ([True, True], [False, False], False, 0.9, Verdict.not_tested),
        ([True, False], [False, True], False, 0.9, Verdict.not_tested),
    ],
)
def test_the_order_of_the_rules(
    supported: list[bool], contradicted: list[bool], is_tested: bool, power: float | None, verdict: Verdict
) -> None:
    assert verdict_of(supported, contradicted, is_tested=is_tested, power=power) is verdict


def test_clear_differences_decide_whatever_the_power_and_ask_for_no_seeds() -> None:
    generator = np.random.default_rng(0)
    for mean, verdict in ((1.3, Verdict.reproduced), (1.9, Verdict.contradicted)):
        rows = table(generator, {**TWO_ROWS, "mine": mean}, {"base": 3, "mine": 2}, seed_noise=0.02)
        (claim,) = judged(rows, [ONE])
        assert claim.verdict is verdict
        assert claim.power is not None
        assert claim.power < 0.8
        assert claim.seeds_needed is None


def test_an_open_claim_states_its_power_and_the_seeds_that_it_would_need() -> None:
    generator = np.random.default_rng(1)
    found = [judged(table(generator, TWO_ROWS, {"base": 6, "mine": 3}, own=0.0), [ONE])[0] for _ in range(10)]
    open_ = [each for each in found if each.verdict is Verdict.under_powered]
    assert open_
    for each in open_:
        assert each.power is not None
        assert each.power < 0.8
        assert each.seeds_needed is None or each.seeds_needed > 3


def test_plan_and_report_have_one_text_for_more_seeds_than_are_searched_for() -> None:
    tiny = replace(ONE, primary=(Comparison(Metric.ppl, "mine", "base", None, -1e-4),))
    rows = table(np.random.default_rng(1), TWO_ROWS, {"base": 6, "mine": 3}, own=0.0)
    (found,) = judged(rows, [tiny])
    assert found.verdict is Verdict.under_powered
    (_, _, _, _, _, reported), *_ = claim_grids([found], claimant="us", assumed="assumed")[0].groups[0]
    (planned,) = claim_powers([tiny], {"base": 6, "mine": 3}, "base", own_noises(rows, "base"))
    assert reported == power_grid([planned]).groups[0][0][-1] == "more than 256"


@given(
    seed=st.integers(0, 2**32 - 1),
    mean=st.floats(1.5, 1.7),
    within=st.floats(0.01, 0.3),
    seeds=st.tuples(st.integers(1, 4), st.integers(2, 5)),
)
@settings(max_examples=30, deadline=None)
def test_an_interval_that_is_shown_is_the_one_that_decides(
    seed: int, mean: float, within: float, seeds: tuple[int, int]
) -> None:
    """Of likeness that of 90%, which lies within the margin; of an order that of 95%, on the claimed side."""
    alike = replace(ONE, primary=(Comparison(Metric.ppl, "mine", "base", within, 0.0),))
    rows = table(
        np.random.default_rng(seed), {**TWO_ROWS, "mine": mean}, dict(zip(("mine", "base"), seeds, strict=True))
    )
    for claim, confidence, mark in ((alike, 0.9, " (90%)"), (ONE, 0.95, "]")):
        (found,) = judged(rows, [claim])
        (comparison,) = found.primary
        effect = comparison.effect
        assert effect is not None
        assert effect.low is not None
        assert effect.high is not None
        holds = -within <= effect.low and effect.high <= within if claim is alike else effect.high <= 0
        assert (comparison.verdict is Verdict.reproduced) == holds
        assert effect.plain()["confidence"] == confidence
        assert effect_text(effect, 3).endswith(mark)


def test_missing_rows_and_seeds_are_not_tested_and_say_why() -> None:
    generator = np.random.default_rng(0)
    (missing,) = judged(table(generator, {"base": 1.6}, {"base": 3}), [ONE])
    assert (missing.verdict, missing.reason) == (Verdict.not_tested, "no finished run of mine")
    assert missing.primary[0].effect is None
    (single,) = judged(table(generator, TWO_ROWS, {"base": 1, "mine": 1}), [ONE])
    assert single.verdict is Verdict.not_tested
    assert "seeds" in single.reason
    assert single.primary[0].effect is not None
    assert single.primary[0].effect.error is None
    for claim in judge_claims(CLAIMS, MeasuredRows(None, {}), {}, base="base", noises=None):
        assert claim.verdict is Verdict.not_tested
        assert [each.comparison for each in claim.primary] == list(claim.claim.primary)


@pytest.mark.parametrize("steep", ["base", "mine"])
def test_a_falling_curve_of_base_or_of_a_row_compared_fails_the_gate(steep: str) -> None:
    claim = replace(ONE, gates={"converged": Converged(0.01, 0.1)})
    rows = table(np.random.default_rng(0), {"base": 1.6, "mine": 1.2}, {"base": 3, "mine": 3})
    (open_,), (closed,) = judged(rows, [claim]), judged(rows, [claim], **{steep: STEEP})
    assert open_.verdict is Verdict.reproduced
    assert closed.verdict is Verdict.not_tested
    assert closed.reason == f"perplexity still falls over the last 10% of steps, by 10% in {steep} (limit 1%)"
    assert closed.primary[0].effect is not None, "it is shown all the same"
    assert closed.primary[0].p_supported is None


def test_a_gate_needs_validations_before_the_last_tenth() -> None:
    claim = replace(ONE, gates={"converged": Converged(0.01, 0.1)})
    assert "no perplexity on dev before" in failed_gate(claim, {"base": [{1000: 4.0}], "mine": [FLAT]}, "base")
    assert "no perplexity on dev" in failed_gate(claim, {"base": [FLAT]}, "base")


def test_the_last_fall_is_of_log_perplexity_between_validations() -> None:
    assert last_fall({800: 6.0, 1000: 5.0}, 0.1) == pytest.approx(1 - (5 / 6) ** 0.5)
    assert last_fall({800: 5.0, 1000: 6.0}, 0.1) == pytest.approx(1 - (6 / 5) ** 0.5), "it rises"
    assert last_fall({}, 0.1) is None
    assert last_fall({950: 5.0, 1000: 5.0}, 0.1) is None


@pytest.mark.parametrize(
    ("last", "complaint"),
    [
        ((4.99, 4.99), ""),
        ((4.9, 5.1), ""),
        ((4.94, 4.956), "perplexity still falls over the last 10% of steps, by 1.04% in mine (limit 1%)"),
        ((4.7, 4.99), "perplexity still falls over the last 10% of steps, by 3.14% in mine (limit 1%)"),
        ((4.99, 5.25), "perplexity rises over the last 10% of steps, by 2.37% in mine (limit 1%)"),
        ((4.99, math.inf), "mine has no finite perplexity on dev over the last 10% of steps"),
    ],
)
def test_seeds_have_to_have_converged_on_average(last: tuple[float, float], complaint: str) -> None:
    claim = replace(ONE, gates={"converged": Converged(0.01, 0.1)})
    curves = {"base": [FLAT], "mine": [{900: 5.0, 1000: ppl} for ppl in last]}
    assert failed_gate(claim, curves, "base") == complaint


def test_all_rows_that_fail_a_gate_are_named() -> None:
    claim = replace(ONE, gates={"converged": Converged(0.01, 0.1), "over_fitting": OverFitting("other", 0.8, 0.01)})
    both = {"base": [STEEP], "mine": [STEEP, {900: 5.0, 1000: 4.9}], "other": [FLAT]}
    assert failed_gate(claim, both, "base").startswith(
        "perplexity still falls over the last 10% of steps, by 10% in base and 6.09% in mine (limit 1%); "
        "other does not over-fit"
    )
    opposite = {**both, "mine": [{900: 5.0, 1000: 5.1}]}
    assert "by 10% in base (limit 1%); perplexity rises over the last 10% of steps, by 2% in mine" in failed_gate(
        claim, opposite, "base"
    )


@given(ppls=st.lists(st.floats(1.0, 1e3), min_size=1, max_size=6), share=st.floats(0.05, 0.5))
def test_the_fall_of_a_row_is_the_geometric_mean_of_its_runs(ppls: list[float], share: float) -> None:
    found = RowFall.of([{1: 5.0, 1000: ppl} for ppl in ppls], share)
    logs = [(math.log(ppl) - math.log(5)) * share * 1000 / 999 for ppl in ppls]
    assert found is not None
    assert math.log1p(-found.mean) == pytest.approx(statistics.fmean(logs), abs=1e-9)
    if len(ppls) == 1:
        assert found.error is None
    else:
        error = statistics.stdev(logs) / len(ppls) ** 0.5
        assert found.error == pytest.approx((1 - found.mean) * error, rel=1e-6, abs=1e-9)


def test_how_much_rows_still_change_is_stated_whether_they_pass_or_not() -> None:
    claim = replace(ONE, gates={"converged": Converged(0.01, 0.1)})
    curves = {"base": [{900: 5.0, 1000: 4.98}, {900: 5.0, 1000: 5.0}], "mine": [{900: 5.0, 1000: 5.1}], "other": [FLAT]}
    assert list(convergence_remarks([claim, ONE], curves, "base")) == [
        "perplexity lost over the last 10% of steps, limit 1%, with standard errors over seeds in brackets: "
        "base 0.20% (0.20), mine −2.00%"
    ]
    assert not list(convergence_remarks([ONE], curves, "base")), "no gate"


def test_only_the_row_of_a_gate_of_over_fitting_may_rise() -> None:
    gates: dict[str, Gate] = {"converged": Converged(0.01, 0.1), "over_fitting": OverFitting("mine", 0.8, 0.01)}
    rising = {100: 6.0, 500: 4.0, 900: 4.5, 1000: 5.0}
    assert not failed_gate(replace(ONE, gates=gates), {"base": [FLAT], "mine": [rising]}, "base")
    assert "% in base" in failed_gate(replace(ONE, gates=gates), {"base": [rising], "mine": [rising]}, "base")


@pytest.mark.parametrize(("lowest", "passes"), [(300, True), (700, True), (800, False), (1000, False)])
def test_over_fitting_is_a_minimum_before_the_end_and_a_rise_after_it(lowest: int, passes: bool) -> None:
    claim = replace(ONE, gates={"over_fitting": OverFitting("mine", 0.8, 0.01)})
    curve = {step: 4.0 + abs(step - lowest) / 1000 for step in range(100, 1001, 100)}
    assert bool(failed_gate(claim, {"mine": [curve, curve]}, "base")) is not passes
    plateau = {step: 4.0 + abs(step - lowest) / 1e5 for step in range(100, 1001, 100)}
    assert failed_gate(claim, {"mine": [plateau]}, "base"), "noise on a plateau is no over-fitting"


def test_a_secondary_comparison_needs_its_own_rows_and_gates() -> None:
    other = Comparison(Metric.bleu, "mine", "third", None, 0.5)
    claim = replace(ONE, secondary=(other,), gates={"converged": Converged(0.01, 0.1)})
    generator = np.random.default_rng(0)
    rows = {"base": 1.6, "mine": 1.2}
    (missing,) = judged(table(generator, rows, {"base": 3, "mine": 3}), [claim])
    assert missing.verdict is Verdict.reproduced
    assert missing.secondary[0].verdict is Verdict.not_tested
    whole = table(generator, {**rows, "third": 1.6}, {"base": 3, "mine": 3, "third": 3})
    (steep,), (flat,) = judged(whole, [claim], third=STEEP), judged(whole, [claim])
    assert steep.verdict is flat.verdict is Verdict.reproduced
    assert steep.secondary[0].verdict is Verdict.not_tested
    assert flat.secondary[0].verdict is not Verdict.not_tested


def test_a_secondary_comparison_needs_its_planned_runs() -> None:
    claim = replace(ONE, secondary=(Comparison(Metric.bleu, "mine", "third", None, 0.5),))
    rows = table(
        np.random.default_rng(0), {"base": 1.6, "mine": 1.2, "third": 1.6}, dict.fromkeys(("base", "mine", "third"), 3)
    )
    curves = {row: [FLAT] for row in rows.places}
    (found,) = judge_claims(
        [claim], rows, curves, base="base", noises=None, lacking=lambda each: "runs" if "third" in each.rows else ""
    )
    assert found.verdict is Verdict.reproduced
    assert found.secondary[0].verdict is Verdict.not_tested


def test_intervals_that_rest_on_other_rows_are_named() -> None:
    seeds = {"base": 3, "mine": 1}
    rows = table(np.random.default_rng(0), TWO_ROWS, seeds)
    noise = rows.by(Metric.ppl).noise
    assert noise is not None
    first, second = interval_remarks({Metric.ppl: noise}, seeds)
    assert f"{noise.deviation:.3f} log PPL, 2 degrees of freedom" in first
    assert "Welch" in first
    assert second.startswith("intervals of mine assume ")
    assert len([*interval_remarks({Metric.ppl: noise}, {"base": 3, "mine": 2})]) == 1
    assert [*interval_remarks({}, seeds)] == [
        "no intervals: no row has two seeds, so the variation between seeds is unknown"
    ]


def test_a_difference_that_an_open_claim_excludes_is_named_and_no_seeds_are_asked_for() -> None:
    rows = table(np.random.default_rng(0), TWO_ROWS, {"base": 12, "mine": 12}, own=0.0, seed_noise=0.005)
    claim = replace(ONE, primary=(Comparison(Metric.ppl, "mine", "base", None, -0.03),))
    (found,) = judged(rows, [claim])
    assert found.verdict is Verdict.undecided
    assert found.power == pytest.approx(1.0, abs=0.05)
    assert seeds_needed_text(found) == ""
    assert [*effect_remarks([found], rows, "base")] == [
        "mine: the interval of PPL of mine < base excludes the assumed difference"
    ]
    (wide,) = judged(table(np.random.default_rng(0), TWO_ROWS, {"base": 2, "mine": 2}, seed_noise=0.1), [claim])
    assert wide.verdict is Verdict.under_powered
    assert [*effect_remarks([wide], rows, "base")] == []
    assert seeds_needed_text(wide)


def test_rows_within_the_margin_of_a_likeness_are_named() -> None:
    alike = Claim("alike", "Alike.", (Comparison(Metric.ppl, "mine", "base", 0.05, 0.0),))
    means = {**TWO_ROWS, "near": 1.61, "far": 1.8}
    rows = table(np.random.default_rng(0), means, dict.fromkeys(means, 8), own=0.0)
    found = judged(rows, [alike])
    assert found[0].verdict is Verdict.reproduced
    assert [*effect_remarks(found, rows, "base")] == ["alike: by the same test, within the margin of base too: near"]


def test_power_that_was_not_computed_before_the_runs_is_that_of_the_runs() -> None:
    rows = table(np.random.default_rng(1), TWO_ROWS, {"base": 3, "mine": 3})
    curves = {row: [FLAT] for row in rows.places}
    (own,) = judge_claims([ONE], rows, curves, base="base", noises=None)
    (unknown,) = judge_claims([ONE], rows, curves, base="base", noises=None, powers={"mine": None})
    (frozen,) = judge_claims([ONE], rows, curves, base="base", noises=None, powers={"mine": 0.9})
    assert own.power == unknown.power
    assert own.power is not None
    assert own.power < 0.8
    assert frozen.power == 0.9
    assert own.verdict is unknown.verdict


def test_the_papers_table_is_reproduced_by_a_table_of_its_own_numbers() -> None:
    rows = table(np.random.default_rng(0), PAPER, dict.fromkeys(ROWS, 4), seed_noise=1e-4, own=0.0, luck=0.001)
    found = {claim.claim.id: claim.verdict for claim in judged(rows, d_drop0={500: 4.9, 900: 5.0, 1000: 5.0})}
    assert found.pop("label_smoothing") is not Verdict.reproduced, "its BLEU does not differ here"
    assert set(found.values()) == {Verdict.reproduced}


@pytest.mark.parametrize(
    "louder", [(), *(pytest.param((row,), marks=pytest.mark.long) for row in ("a_h32", "big"))], ids=str
)
def test_under_no_difference_few_tables_contradict_and_few_claims_are_reproduced(louder: tuple[str, ...]) -> None:
    """Also where one row varies three times as much between seeds as the others."""
    generator, tables = np.random.default_rng(0), 250
    claims = [claim for claim in CLAIMS if all(each.within is None for each in claim.primary)]
    seeds = {**dict.fromkeys(ROWS, 4), "base": 8}
    found: Counter[str] = Counter()
    for _ in range(tables):
        outcomes = verdicts(table(generator, dict.fromkeys(ROWS, 1.6), seeds, louder=louder), claims)
        found["table"] += Verdict.contradicted in outcomes.values()
        found.update(name for name, verdict in outcomes.items() if verdict is Verdict.reproduced)
    bound = 0.03 + 3 * (0.03 * 0.97 / tables) ** 0.5
    assert {name: count / tables for name, count in found.items() if count / tables > bound} == {}


def test_few_seeds_decide_falsely_no_more_often_than_many() -> None:
    """Of two seeds of one row alone the variance has one degree of freedom."""
    generator, tables = np.random.default_rng(0), 400
    seeds = {"base": 2, "mine": 1}
    outcomes = [verdicts(table(generator, TWO_ROWS, seeds), [ONE])["mine"] for _ in range(tables)]
    for verdict in DECIDED:
        assert outcomes.count(verdict) / tables <= 0.025 + 3 * (0.025 * 0.975 / tables) ** 0.5


def test_with_the_papers_effects_the_power_is_what_was_promised() -> None:
    generator, tables = np.random.default_rng(0), 300
    names = {"one_head", "too_many_heads", "smaller_keys", "wider_feed_forward", "learned_positions"}
    claims = [claim for claim in CLAIMS if claim.id in names]
    means = {row: PAPER[row] for row in dict.fromkeys(row for claim in claims for row in claim.rows)}
    seeds = {row: 8 if row == "base" else 4 for row in means}
    reproduced: Counter[str] = Counter()
    for _ in range(tables):
        found = verdicts(table(generator, means, seeds), claims)
        reproduced.update(name for name, verdict in found.items() if verdict is Verdict.reproduced)
    # The variances as they are: between seeds with the sentences' share, and of sentences.
    share = 0.1**2 / SENTENCES
    noise = Noise(0.012**2 + share, 2 * 0.02**2 / SENTENCES)
    for claim, power in zip(claims, power_of(claims, seeds, dict.fromkeys(Metric, noise)), strict=True):
        assert power is not None
        assert reproduced[claim.id] / tables == pytest.approx(power, abs=0.1), claim.id


def test_own_noises_bound_the_variances_of_the_runs() -> None:
    rows = table(np.random.default_rng(0), PAPER, dict.fromkeys(ROWS, 6))
    noises = own_noises(rows, "base")
    assert noises is not None
    share = 0.1**2 / SENTENCES
    assert noises[Metric.ppl].seeds == pytest.approx(0.012**2 + share, rel=0.5)
    assert noises[Metric.ppl].sentences == pytest.approx(2 * 0.02**2 / SENTENCES, rel=0.6)
    assert own_noises(table(np.random.default_rng(0), TWO_ROWS, {"base": 1, "mine": 1}), "base") is None
