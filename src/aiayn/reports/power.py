"""The power of a study for its claims, by steps and seeds, from the curves of runs that were trained before it.

Under a schedule without a horizon each validation at step t is that of a run of t steps, so that the curves of longer
runs tell the power of any shorter budget.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from aiayn.evaluation.decisions import Conjunction, Design, Hypothesis, Noise
from aiayn.evaluation.significance import Measured
from aiayn.paper.claims import Claim, Comparison, Metric
from aiayn.reports.claim_grids import DECIMALS
from aiayn.reports.comparability import Difference, check_alike, condition_differences
from aiayn.reports.endpoints import at, endpoint_weights
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import FEWEST_SEEDS, Rules, expected_scores, hypothesis, training_failures
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.numbers import signed
from aiayn.reports.publication import RUNS, unpacked
from aiayn.reports.registered import read_registered
from aiayn.reports.reported_runs import ReportedRun, finished_run
from aiayn.reports.run_facts import hardware_text, package_versions
from aiayn.reports.verdicts import CUT, POWER_CONFIDENCE, UNDER_POWERED
from aiayn.runs.registrations import PilotResult, registered_names

SEEDS = (FEWEST_SEEDS, 8, 12)
"""Seeds of every row whose power is shown beside that of the planned ones."""

Noises = Mapping[Metric, Noise]
"""The variances that power is computed with, by metric."""


@dataclass(frozen=True)
class Pilots:
    """The pilots of a study."""

    finished: Mapping[str, Mapping[str, ReportedRun]]
    """The finished pilots, by row and name."""
    unfinished: Sequence[str]
    """The names of the other pilots."""
    base: str
    """The row that others are compared with."""

    @classmethod
    def read(cls, runs: Path, planned: Mapping[str, Mapping[int, str]], base: str) -> "Pilots":
        """Read pilots.

        Args:
            runs: the folder of runs.
            planned: the names of the pilots below it, by row and seed.
            base: the row that others are compared with.

        Raises:
            UserError: they are not of the same data.
        """
        finished: dict[str, dict[str, ReportedRun]] = {}
        unfinished = []
        for row, names in planned.items():
            for name in names.values():
                if (run := finished_run(runs / name)) is None:
                    unfinished.append(name)
                else:
                    finished.setdefault(row, {})[name] = run
        every = [run for each in finished.values() for run in each.values()]
        check_alike(every, _corpus_differences, "rerun the pilots of other data with force=true")
        return cls(finished, unfinished, base)

    def evidence(self, budgets: Sequence[int | None]) -> "Evidence":
        """What they tell of a study; its effects are the stated ones."""
        runs = {row: list(each.values()) for row, each in self.finished.items()}
        return Evidence.of(runs, self.base, budgets, tells_effects=False)

    def results(self) -> tuple[PilotResult, ...]:
        """The finished pilots as a plan keeps them."""
        return tuple(pilot_result(row, name, run) for row, each in self.finished.items() for name, run in each.items())

    def in_words(self) -> str:
        """Their number by row."""
        counts = ", ".join(f"{len(each)} of {row}" for row, each in self.finished.items())
        return f"pilots: {counts or 'none'} finished"


def _corpus_differences(run: ReportedRun, other: ReportedRun) -> Iterator[Difference]:
    return (difference._replace(remedy="") for difference in condition_differences(run, other))


def pilot_result(row: str, name: str, run: ReportedRun) -> PilotResult:
    """A finished pilot as a plan keeps it."""
    log_ppl = math.log(run.record.scores["dev"].ppl)
    return PilotResult(
        run=name,
        row=row,
        seed=run.record.seed,
        log_ppl=log_ppl if math.isfinite(log_ppl) else None,
        data_fingerprint=run.record.data_fingerprint,
        precision=run.record.origin.precision_text,
        code=", ".join(dict.fromkeys(origin.code.text for origin in (*run.record.earlier, run.record.origin))),
        versions=package_versions(run.record),
        hardware=hardware_text(run.record),
    )


@dataclass(frozen=True)
class Evidence:
    """What runs that were trained before a study tell of it."""

    base: str
    """The row that others are compared with."""
    measured: Mapping[int | None, MeasuredRows]
    """Their scores by budget in steps; None: that of the study."""
    tells_effects: bool
    """Whether their differences are assumed, of claims all of whose rows they have; else the stated ones are."""

    @classmethod
    def of(
        cls,
        runs: Mapping[str, Sequence[ReportedRun]],
        base: str,
        budgets: Sequence[int | None],
        *,
        tells_effects: bool,
        planned: Mapping[str, int] | None = None,
    ) -> Self:
        """From runs by row, at some budgets; None: the `planned` steps of a row, or all where none are planned.

        Raises:
            UserError: a file of a run cannot be read.
        """
        whole = MeasuredRows.of(runs)
        found = {steps: at(whole, runs, endpoint_weights, planned if steps is None else steps) for steps in budgets}
        return cls(base, found, tells_effects)

    def noises(self, steps: int | None) -> Noises | None:
        """The variances that power is computed with; None if no row has two finite scores."""
        rows = self.measured[steps]
        if rows.measured is None or any(rows.by(metric).noise is None for metric in Metric):
            return None
        return {metric: _noise(rows.by(metric), rows.places.get(self.base)) for metric in Metric}

    def in_words(self, steps: int | None) -> str:
        """The standard deviations between their seeds."""
        if self.noises(steps) is None:
            return "power is unknown without two finished runs of one row"
        spreads = (_spread(metric, self.measured[steps].by(metric)) for metric in Metric)
        return f"standard deviation between seeds: {' and '.join(spreads)}"


def published_evidence(folder: Path, base: str, budgets: Sequence[int | None], planned: Mapping[str, int]) -> Evidence:
    """What the runs of a published study tell of one with the planned steps of each row; UserError if there is none."""
    with unpacked(folder, f"hydra.sweeper.power_from={folder}"):
        runs: dict[str, list[ReportedRun]] = {}
        for name in registered_names(Path(RUNS)):
            for row, found in read_registered(Path(RUNS), name).rows.items():
                runs.setdefault(row, []).extend(found)
        return Evidence.of(runs, base, budgets, tells_effects=True, planned=planned)


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
    """The scores that are assumed: a share of the published ones, or the stated ones as far as the floor lets them be.

    Only their differences matter. A row that has not learned tells nothing of its effect.
    """
    measured = {} if rows.measured is None else rows.compared(comparison.metric)
    needed = {*comparison.rows} - {(comparison.alike or ("",))[0]}
    if evidence.tells_effects and measured.keys() >= needed and not training_failures(needed, rows, evidence.base):
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
class Budget:
    """A number of steps and of seeds, with the power for each claim."""

    steps: int | None
    """None: all steps of the study."""
    name: str
    """Of its seeds, as in "8 each"."""
    seeds: Mapping[str, int]
    """Of each row."""
    powers: Sequence[ClaimPower]

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        powers = {each.claim.id: each.power for each in self.powers}
        return {"steps": self.steps, "seeds": dict(self.seeds), "powers": powers}


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
