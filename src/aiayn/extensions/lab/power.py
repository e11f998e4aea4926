"""The power of a study for its claims, by steps and seeds, from the curves of another study's runs.

Under a schedule without a horizon each validation at step t is that of a run of t steps, so that the curves of longer
runs tell the power of any shorter budget.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from aiayn.errors import UserError
from aiayn.evaluation.decisions import Conjunction, Design, Hypothesis, Noise
from aiayn.evaluation.significance import Measured
from aiayn.extensions.lab.publication import RUNS, unpacked
from aiayn.extensions.lab.registered import read_registered
from aiayn.extensions.lab.registrations import FOLDER, StudyPlan, leading_studies, registered_names
from aiayn.paper.claims import Claim, Comparison, Metric
from aiayn.reports.claim_grids import DECIMALS
from aiayn.reports.endpoints import at, endpoint_weights
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import FEWEST_SEEDS, Rules, expected_scores, hypothesis, training_failures
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.numbers import signed
from aiayn.reports.reported_runs import ReportedRun
from aiayn.reports.verdicts import CUT, POWER_CONFIDENCE, UNDER_POWERED
from aiayn.system import files

POWER_FROM = "hydra.sweeper.power_from"

SEEDS = (FEWEST_SEEDS, 8, 12)
"""Seeds of every row whose power is shown beside that of the planned ones."""

Noises = Mapping[Metric, Noise]
"""The variances that power is computed with, by metric."""


@dataclass(frozen=True)
class Evidence:
    """What the runs of another study tell of a plan."""

    base: str
    """The row that others are compared with."""
    measured: Mapping[int | None, MeasuredRows]
    """Their scores by budget in steps; None: that of the plan."""
    remark: str = ""
    """What keeps them from telling it, in words."""

    @classmethod
    def read(cls, runs: Path, plan: StudyPlan) -> Self:
        """From the study that the plan names, in the folder of runs or published; without one nothing is known.

        Raises:
            UserError: there is no such study, or a file of it cannot be read.
        """
        if (source := plan.terms.power_from) is None:
            return cls.of({}, plan)
        if source in registered_names(runs):
            return cls.of(read_registered(runs, source).rows, plan)
        folder = Path(source).expanduser()
        if not files.exists(folder):
            known = ", ".join(registered_names(runs)) or "none"
            raise UserError(
                f"{POWER_FROM}={source}: neither a study with a frozen plan in {runs / FOLDER} (there are: {known}), "
                "nor the folder of a published one; freeze its plan first, or leave power_from out"
            )
        with unpacked(folder, f"{POWER_FROM}={source}"):
            found = defaultdict[str, list[ReportedRun]](list)
            for name in leading_studies(Path(RUNS)):
                for row, of_row in read_registered(Path(RUNS), name).rows.items():
                    found[row].extend(of_row)
            return cls.of(found, plan)

    @classmethod
    def of(cls, runs: Mapping[str, Sequence[ReportedRun]], plan: StudyPlan) -> Self:
        """From runs by row, after the steps of the plan and after its further budgets.

        Rows that the plan does not have tell how seeds vary after the steps of base.
        """
        whole = MeasuredRows.of(runs)
        planned = {name: row.settings["optimization.max_steps"] for name, row in plan.rows.items()}
        known = {row: planned.get(row, planned[plan.base]) for row in runs}
        budgets: dict[int | None, Any] = {None: known, **{steps: steps for steps in plan.terms.steps}}
        measured = {key: at(whole, runs, endpoint_weights, steps) for key, steps in budgets.items()}
        ends = {row: min(run.record.steps for run in of_row) for row, of_row in runs.items()}
        shorter = [
            f"{row} {ends[row]:,} of {planned[row]:,}" for row in planned if ends.get(row, math.inf) < planned[row]
        ]
        return cls(
            plan.base, measured, f"; its runs have fewer steps than the plan: {', '.join(shorter)}" if shorter else ""
        )

    def noises(self, steps: int | None) -> Noises | None:
        """The variances that power is computed with; None if no row has two finite scores."""
        rows = self.measured[steps]
        if rows.measured is None or any(rows.by(metric).noise is None for metric in Metric):
            return None
        return {metric: _noise(rows.by(metric), rows.places.get(self.base)) for metric in Metric}

    @property
    def in_words(self) -> str:
        """The standard deviations between their seeds."""
        if self.noises(None) is None:
            return "power is unknown without two finished runs of one row"
        spreads = (_spread(metric, self.measured[None].by(metric)) for metric in Metric)
        return f"standard deviation between seeds: {' and '.join(spreads)}{self.remark}"


def _noise(measured: Measured, base: int | None) -> Noise:
    """The variances of one metric, with the upper bound of that between seeds.

    With base alone, two systems are assumed to differ from sentence to sentence as much as two seeds.
    """
    assert measured.noise is not None
    others = [place for place in range(len(measured.seeds)) if place != base]
    if base is None or not others:
        sentences = 2 * measured.noise.sentence_share
    else:
        sentences = float(np.median([measured.sentence_variance({place: 1.0, base: -1.0}) for place in others]))
    return Noise(measured.noise.upper_variance(POWER_CONFIDENCE), sentences)


def _spread(metric: Metric, measured: Measured) -> str:
    assert measured.noise is not None
    upper, decimals = math.sqrt(measured.noise.upper_variance(POWER_CONFIDENCE)), DECIMALS[metric] + 1
    deviation = f"{measured.noise.deviation:.{decimals}f} {metric.compared}"
    return f"{deviation} ({POWER_CONFIDENCE:.0%} upper bound {upper:.{decimals}f})"


@dataclass(frozen=True)
class ClaimPower:
    """The power of some runs for a claim."""

    claim: Claim
    effects: tuple[float, ...]
    """The assumed contrast of each primary comparison."""
    power: float | None
    """None if the variance between seeds is unknown."""


def claim_powers(
    claims: Sequence[Claim], seeds: Mapping[str, int], evidence: Evidence, rules: Rules, steps: int | None = None
) -> list[ClaimPower]:
    """The power for each claim.

    Args:
        claims: the claims of the study.
        seeds: the number of seeds of each row.
        evidence: what is known.
        rules: how the study is judged.
        steps: the budget; None: that of the evidence.
    """
    rows, noises = evidence.measured[steps], evidence.noises(steps)
    assumed = [[_assumed(each, rows, evidence, rules) for each in claim.primary] for claim in claims]
    effects = [
        tuple(each.contrast(scores) for each, scores in zip(claim.primary, of_claim, strict=True))
        for claim, of_claim in zip(claims, assumed, strict=True)
    ]
    powers: Sequence[float | None] = [None] * len(claims)
    if noises is not None and claims:
        powers = [*map(float, design(claims, seeds, assumed, rules).power([noises[metric] for metric in Metric]))]
    return [ClaimPower(*each) for each in zip(claims, effects, powers, strict=True)]


def design(
    claims: Sequence[Claim], seeds: Mapping[str, int], assumed: Sequence[Sequence[Mapping[str, float]]], rules: Rules
) -> Design:
    """The claims with the differences that are assumed.

    Args:
        claims: the claims of the study.
        seeds: the number of seeds of each row.
        assumed: of each claim, for each primary comparison, the scores of its rows.
        rules: how the study is judged.
    """
    places = {row: n for n, row in enumerate(seeds)}
    numbers = {claim.id: n for n, claim in enumerate(claims)}

    def steps(comparison: Comparison, scores: Mapping[str, float]) -> list[Hypothesis]:
        like = hypothesis(comparison)
        return [
            replace(like, weights={places[one]: 1.0, places[other]: -1.0}, effect=scores[one] - scores[other])
            for one, other in comparison.steps
        ]

    conjunctions = []
    for claim, of_claim in zip(claims, assumed, strict=True):
        pairs = [*zip(claim.primary, of_claim, strict=True)]
        hypotheses = [hypothesis(each, places, each.contrast(scores)) for each, scores in pairs]
        slopes = [steps(each, scores) for each, scores in pairs if each.steps]
        required = None if claim.requires is None else numbers[claim.requires]
        conjunctions.append(Conjunction(hypotheses, slopes, required))
    return Design(conjunctions, [*seeds.values()], rules.pooled)


def _assumed(comparison: Comparison, rows: MeasuredRows, evidence: Evidence, rules: Rules) -> Mapping[str, float]:
    """The scores that are assumed: a share of the measured ones, or the stated ones as far as the floor lets them be.

    Only their differences matter. A row that has not learned tells nothing of its effect, nor does one without a
    validation within the budget.
    """
    scores = {} if rows.measured is None else rows.compared(comparison.metric)
    measured = {row: score for row, score in scores.items() if math.isfinite(score)}
    needed = {*comparison.rows} - {(comparison.alike or ("",))[0]}
    if measured.keys() >= needed and not training_failures(needed, rows, evidence.base):
        return {row: CUT * measured[row] for row in comparison.rows if row in measured}
    return expected_scores(comparison, measured, rules)[0]


def power_grid(powers: Sequence[ClaimPower]) -> Grid:
    """A line for each claim."""
    return Grid("Power", ("<claim", "<claimed", "stated", "assumed", "power", "<"), (tuple(map(_line, powers)),))


def _line(found: ClaimPower) -> tuple[str, ...]:
    claimed = found.claim.primary
    return (
        found.claim.id,
        "; ".join(each.text for each in claimed),
        "; ".join(signed(each.effect, DECIMALS[each.metric]) for each in claimed),
        "; ".join(signed(of, DECIMALS[each.metric]) for each, of in zip(claimed, found.effects, strict=True)),
        _percent(found.power),
        "under-powered beforehand" if found.power is not None and found.power < UNDER_POWERED else "",
    )


def _percent(power: float | None) -> str:
    return "" if power is None else f"{power:.0%}"


@dataclass(frozen=True)
class BudgetContent:
    """A number of steps and of seeds, with the power for each claim."""

    steps: int | None
    """Steps; None: all of the study."""
    seeds: Mapping[str, int]
    """Seeds of each row."""
    powers: Mapping[str, float | None]
    """Power for each claim; None if unknown."""


@dataclass(frozen=True)
class Budget:
    """A number of steps and of seeds, with the power for each claim."""

    steps: int | None
    """None: all steps of the study."""
    name: str
    """Of its seeds, as in "8 each"."""
    seeds: Mapping[str, int]
    """Of each row."""
    powers: Sequence[ClaimPower]

    @property
    def content(self) -> BudgetContent:
        """The budget in a document for programs."""
        return BudgetContent(self.steps, self.seeds, {each.claim.id: each.power for each in self.powers})


def budgets(claims: Sequence[Claim], seeds: Mapping[str, int], evidence: Evidence, rules: Rules) -> list[Budget]:
    """The power of each claim by steps and seeds: the planned ones, and equal ones of all rows."""
    plans = {"as planned": seeds} | {f"{n} each": dict.fromkeys(seeds, n) for n in SEEDS}
    return [
        Budget(steps, name, counts, claim_powers(claims, counts, evidence, rules, steps))
        for steps in evidence.measured
        for name, counts in plans.items()
    ]


def budget_grid(found: Sequence[Budget]) -> Grid:
    """A line for each budget."""
    lines = (
        ("all" if each.steps is None else f"{each.steps:,}", each.name, *(_percent(of.power) for of in each.powers))
        for each in found
    )
    return Grid("Power by budget", ("steps", "<seeds", *(of.claim.id for of in found[0].powers)), (tuple(lines),))
