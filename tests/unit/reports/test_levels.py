"""The levels of a study's verdicts, and its power, in 20,000 simulated tables that are judged as real ones are.

A run has a level of its own, and its forty validations vary independently around its curve. Of both functionals that a
study takes of a curve, the endpoint and the projection, the joint distribution follows from their weights, so that no
curve is drawn. The seeds of generators were chosen before the results were known.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

from aiayn.evaluation.decisions import Booleans, Design, Noise, decide, lasting, opposite_steps
from aiayn.evaluation.significance import Floats, contrast_errors
from aiayn.extensions.lab.power import design
from aiayn.paper.claims import SHARE, Metric, load_claims, printed_score
from aiayn.reports.endpoints import endpoint_weights, projection_weights
from aiayn.reports.judgement import STUDY, Rules

TABLES = 20_000
STEPS = 7000
VALIDATIONS = [STEPS * number // 40 for number in range(1, 41)]
FUNCTIONALS: Floats = np.stack([endpoint_weights(VALIDATIONS), projection_weights(VALIDATIONS)])
BETWEEN, WITHIN = 0.0023, 0.0036
"""Standard deviations of log PPL in docs/results/lab/capacity: between the levels of runs, and of one validation."""

CLAIMS = [claim for claim in load_claims() if {each.metric for each in claim.primary} == {Metric.ppl}]
ROWS = list(dict.fromkeys(row for claim in CLAIMS for row in ("base", *claim.rows)))
SEEDS = {**dict.fromkeys(ROWS, 5), "base": 8}
NAMES = [claim.id for claim in CLAIMS]
TRENDS = ("more_layers", "wider_layers", "wider_feed_forward")


def lagging(lag: float) -> Floats:
    """Both functionals of a curve that needs a share of steps more than base in docs/results/lab/capacity."""
    logs: Floats = 0.069 + 0.0226 * (np.array(VALIDATIONS) / (1 + lag) / STEPS) ** -2.09
    ends: Floats = FUNCTIONALS @ logs
    return ends


@dataclass(frozen=True)
class Table:
    """Contrasts of simulated tables, at the end of training and as their curves lead to."""

    design: Design
    measured: tuple[Floats, Floats, Floats]
    projected: tuple[Floats, Floats, Floats]

    @cached_property
    def reproduced(self) -> dict[str, Booleans]:
        """Of each claim, [tables]."""
        return dict(zip(NAMES, self.design.reproduced(*self.measured).T, strict=True))

    @property
    def shares(self) -> dict[str, float]:
        """Of tables in which a claim is reproduced."""
        return {claim: float(found.mean()) for claim, found in self.reproduced.items()}

    @property
    def promised(self) -> dict[str, float]:
        """The power of each claim by the true variance, as plans compute it."""
        variance = BETWEEN**2 + WITHIN**2 * float((FUNCTIONALS[0] ** 2).sum())
        return dict(zip(NAMES, map(float, self.design.power([Noise(variance, 0.0)], draws=TABLES)), strict=True))

    @property
    def contradicted(self) -> float:
        """The share of tables with a contradiction."""
        count = sum(len(claim.hypotheses) for claim in self.design.claims)
        found = decide(self.design.hypotheses[:count], *(each[:, :count] for each in self.measured))
        return float(found.contradicted.any(axis=-1).mean())

    def opposite(self, claim: str) -> float:
        """The share of tables with an opposite step in a claimed trend."""
        (steps,) = self.design.claims[NAMES.index(claim)].slopes
        begin = self.design.hypotheses.index(steps[0])
        found = opposite_steps(-1, *(each[:, begin : begin + len(steps)] for each in self.measured))
        return float(found.any(axis=-1).mean())

    def closing(self, claim: str) -> tuple[float, float]:
        """The share of tables in which a claim of one hypothesis is reproduced and flagged; the same without a flag."""
        (hypothesis,) = self.design.claims[NAMES.index(claim)].hypotheses
        at = [self.design.hypotheses.index(hypothesis)]
        found, late = (decide([hypothesis], *(each[:, at] for each in of)) for of in (self.measured, self.projected))
        lasts = lasting([hypothesis], found, late)[:, 0]
        reproduced = self.reproduced[claim]
        return float((reproduced & ~lasts).mean()), float((reproduced & lasts).mean())


def simulated(
    means: Mapping[str, float | Floats],
    *,
    seed: int,
    loud: str = "",
    seeds: Mapping[str, int] = SEEDS,
    rules: Rules = STUDY,
) -> Table:
    """Tables whose rows have these log PPL: of both functionals, if one number; others 0; `loud` varies three times."""
    counts = np.array([*seeds.values()])
    truth = np.array([np.broadcast_to(means.get(row, 0.0), 2) for row in seeds])
    spread = np.repeat([3.0 if row == loud else 1.0 for row in seeds], counts)
    generator = np.random.default_rng(seed)
    validations = (
        generator.standard_normal((TABLES, len(spread), 2)) @ np.linalg.cholesky(FUNCTIONALS @ FUNCTIONALS.T).T
    )
    levels = generator.standard_normal((TABLES, len(spread), 1))
    runs = spread[:, None] * (BETWEEN * levels + WITHIN * validations) + np.repeat(truth, counts, axis=0)
    begin = np.cumsum([0, *counts[:-1]])
    of_rows = np.add.reduceat(runs, begin, axis=1) / counts[:, None]
    squares = np.add.reduceat((runs - np.repeat(of_rows, counts, axis=1)) ** 2, begin, axis=1)
    variances = squares / np.maximum(counts - 1, 1)[:, None]
    scores = dict(zip(seeds, truth[:, 0], strict=True))
    plan = design(CLAIMS, seeds, [[scores for _ in claim.primary] for claim in CLAIMS], rules)
    none = np.zeros((TABLES, len(plan.hypotheses)))

    def contrasts(functional: int) -> tuple[Floats, Floats, Floats]:
        errors = contrast_errors(variances[..., functional], counts, plan.weights, none, pooled=rules.pooled)
        return of_rows[..., functional] @ plan.weights.T, *errors

    return Table(plan, contrasts(0), contrasts(1))


def at_most(share: float) -> float:
    """The largest share that a simulation may measure: two standard errors more."""
    return share + 2 * math.sqrt(share * (1 - share) / TABLES)


@pytest.mark.parametrize("rules", [STUDY, replace(STUDY, pooled=True)], ids=["Welch", "pooled"])
def test_without_a_difference_few_claims_are_reproduced_and_few_tables_contradict(rules: Rules) -> None:
    table = simulated({}, seed=0, rules=rules, seeds=dict.fromkeys(ROWS, 2) if rules.pooled else SEEDS)
    assert max(table.shares.values()) <= at_most(0.025)
    assert table.contradicted <= 0.05
    assert max(map(table.opposite, TRENDS)) <= at_most(0.05)


@pytest.mark.parametrize("loud", ["base", "a_h1", "c_n2"])
def test_a_row_that_varies_three_times_as_much_makes_few_more(loud: str) -> None:
    table = simulated({}, seed=1, loud=loud)
    assert max(table.shares.values()) <= 0.03
    assert table.contradicted <= 0.05


@pytest.mark.parametrize(
    ("claim", "true", "level", "seed"),
    [
        ("smaller_keys", {"b_dk32": 1.0, "b_dk16": 1.0}, 0.025, 2),
        ("big_is_best", {"c_d1024": 1.0}, 0.025, 2),
        ("learned_positions", {"a_h1": 0.1, "e_learned": SHARE * 0.1}, 0.05, 3),
        ("learned_positions", {"a_h1": 0.1, "e_learned": -SHARE * 0.1}, 0.05, 3),
    ],
)
def test_a_claim_that_just_does_not_hold_is_reproduced_at_its_level(
    claim: str, true: Mapping[str, float], level: float, seed: int
) -> None:
    """All but one of its comparisons are true; rows that are claimed to be alike differ by a quarter of one head."""
    assert 0.8 * level <= simulated(true, seed=seed).shares[claim] <= at_most(level)


@pytest.mark.parametrize("difference", [0.0075, 0.01])
def test_a_constant_difference_that_is_found_is_seldom_called_closing(difference: float) -> None:
    table = simulated({"a_h1": difference}, seed=4)
    flagged, unflagged = table.closing("one_head")
    assert table.promised["one_head"] >= 0.9
    assert flagged / (flagged + unflagged) <= 0.2


@pytest.mark.parametrize("lag", [0.05, 0.1, 0.2])
def test_a_row_that_only_lags_is_seldom_reproduced_without_the_flag(lag: float) -> None:
    """One that needs more steps for the same: found in up to all tables, and a difference that ends with training."""
    levels = {"base": lagging(0.0), "a_h1": lagging(lag)}
    assert simulated(levels, seed=5).closing("one_head")[1] <= 0.02


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_power_is_as_promised(share: float) -> None:
    """With a share of the paper's differences."""
    printed = {row: share * printed_score(Metric.ppl, row) for row in ROWS}
    table = simulated({**printed, "e_learned": printed["base"]}, seed=6)
    assert table.shares == pytest.approx(table.promised, abs=0.02)


def test_power_counts_the_tables_in_which_a_step_is_opposite() -> None:
    table = simulated({"c_n2": 0.08, "c_n4": 0.01, "c_n8": 0.004}, seed=7)
    power = table.promised["more_layers"]
    assert 0.3 < power < 0.9
    assert table.shares["more_layers"] == pytest.approx(power, abs=0.02)
