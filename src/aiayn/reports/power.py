"""The effects that a study can detect, from the variance between the seeds of its pilots."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from aiayn.evaluation.decisions import TARGET_POWER
from aiayn.evaluation.significance import SeedNoise
from aiayn.paper.claims import Claim, Comparison, Metric, OverFitting
from aiayn.reports.claim_grids import DECIMALS, TOO_MANY_SEEDS, claimed, effect_assumed
from aiayn.reports.comparability import Difference, check_alike, condition_differences
from aiayn.reports.gates import Curves, chances_to_converge, curves_of, failed_gate
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import (
    POWER_CONFIDENCE,
    MeasuredRows,
    Noises,
    multiple_of_base,
    own_noises,
    power_of,
    seeds_for,
)
from aiayn.reports.numbers import signed
from aiayn.reports.reported_runs import ReportedRun, finished_run
from aiayn.reports.run_facts import hardware_text, package_versions
from aiayn.runs.registrations import PilotResult

LARGEST_FACTOR = 1024.0
"""The largest multiple of the assumed effects that is searched for a detectable one."""

PRECISION = 1.01
"""The search for a detectable effect ends when its bounds have this ratio."""


CERTAIN = 0.95
"""A gate that runs pass with a smaller probability is named."""


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

    @cached_property
    def measured(self) -> MeasuredRows:
        """Their scores."""
        return MeasuredRows.of({row: list(each.values()) for row, each in self.finished.items()})

    @property
    def noises(self) -> Noises | None:
        """The variances that power is computed with; None if no row has two finished pilots."""
        return own_noises(self.measured, self.base)

    def results(self) -> tuple[PilotResult, ...]:
        """The finished pilots as a plan keeps them."""
        return tuple(pilot_result(row, name, run) for row, each in self.finished.items() for name, run in each.items())

    def in_words(self) -> str:
        """Number of pilots and standard deviations between their seeds."""
        counts = ", ".join(f"{len(each)} of {row}" for row, each in self.finished.items())
        if self.noises is None:
            return f"pilots: {counts or 'none'} finished; power is unknown without two of one row"
        spreads = " and ".join(_spread(metric, self.measured.by(metric).noise) for metric in Metric)
        return f"pilots: {counts}; standard deviation between seeds: {spreads}"

    def failed_gates(self, claims: Sequence[Claim]) -> Iterator[str]:
        """The claims that runs like the pilots could not test, with the reason."""
        for claim in claims:
            if reason := self._failed_gate(claim):
                yield f"runs like the pilots do not test {claim.id}: {reason}"

    def uncertain_gates(self, claims: Sequence[Claim], seeds: Mapping[str, int]) -> Iterator[str]:
        """The claims whose gate of convergence runs like the pilots pass, but other seeds of them may not.

        Args:
            claims: the claims of the study.
            seeds: the planned number of seeds of each row.
        """
        for claim in claims:
            if not self._failed_gate(claim):
                for row, chance in chances_to_converge(claim, self._curves, seeds, self.base):
                    if chance < CERTAIN:
                        runs = f"{seeds[row]} runs like the pilots of {row}"
                        yield f"gates of {claim.id}: {runs} converge with a probability of {chance:.0%}"

    @cached_property
    def _curves(self) -> Curves:
        return curves_of({row: list(each.values()) for row, each in self.finished.items()})

    def _failed_gate(self, claim: Claim) -> str:
        """Why the pilots do not pass a claim's gates; empty if they do, or if base has none."""
        if self.base not in self._curves:
            return ""
        gates = claim.gates.items()
        known = {name: gate for name, gate in gates if not isinstance(gate, OverFitting) or gate.row in self._curves}
        return failed_gate(replace(claim, primary=(), gates=known), self._curves, self.base)


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


def _spread(metric: Metric, noise: SeedNoise | None) -> str:
    assert noise is not None
    upper, decimals = math.sqrt(noise.upper_variance(POWER_CONFIDENCE)), DECIMALS[metric] + 1
    return f"{noise.deviation:.{decimals}f} {metric.compared} ({POWER_CONFIDENCE:.0%} upper bound {upper:.{decimals}f})"


@dataclass(frozen=True)
class ClaimPower:
    """The power of the planned runs for a claim."""

    claim: Claim
    power: float | None
    """Power for the assumed effects; None if the variance between seeds is unknown."""
    factor: float | None
    """The multiple of the assumed effects, or margins, at which the power is 80%; None if unknown, or too large."""
    seeds: Mapping[str, int] | None
    """Seeds of each row of the claim for a power of 80%; None if unknown, or too many."""


def claim_powers(
    claims: Sequence[Claim], seeds: Mapping[str, int], base: str, noises: Noises | None
) -> list[ClaimPower]:
    """The power for each claim.

    Args:
        claims: the claims of the study.
        seeds: the planned number of seeds of each row.
        base: the row that others are compared with.
        noises: the variances of the pilots; None if unknown.
    """
    powers = power_of(claims, seeds, noises)
    if noises is None:
        return [ClaimPower(claim, None, None, None) for claim in claims]
    return [
        ClaimPower(claim, power, _detectable(claim, seeds, noises), _seeds_needed(claim, seeds, base, noises))
        for claim, power in zip(claims, powers, strict=True)
    ]


def _detectable(claim: Claim, seeds: Mapping[str, int], noises: Noises) -> float | None:
    """The smallest multiple of the effects and margins of a claim with a power of 80%."""

    def has_power(factor: float) -> bool:
        assumed = replace(claim, primary=tuple(_times(each, factor) for each in claim.primary))
        (power,) = power_of([assumed], seeds, noises)
        return power is not None and power >= TARGET_POWER

    if not has_power(LARGEST_FACTOR):
        return None
    low, high = 1 / LARGEST_FACTOR, LARGEST_FACTOR
    while high / low > PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if has_power(middle) else (middle, high)
    return high


def _times(comparison: Comparison, factor: float) -> Comparison:
    within = None if comparison.within is None else factor * comparison.within
    return replace(comparison, effect=factor * comparison.effect, within=within)


def _seeds_needed(claim: Claim, seeds: Mapping[str, int], base: str, noises: Noises) -> dict[str, int] | None:
    count = seeds_for(claim, seeds, base, noises)
    if count is None:
        return None
    factor = multiple_of_base(claim, seeds, base)
    return {row: round(count * factor) if row == base else count for row in claim.rows}


def _seeds_text(found: ClaimPower) -> str:
    if found.power is None:
        return ""
    if found.seeds is None:
        return TOO_MANY_SEEDS
    return ", ".join(f"{row} {count}" for row, count in found.seeds.items())


def power_grid(powers: Sequence[ClaimPower]) -> Grid:
    """A line for each claim."""
    target = f"{TARGET_POWER:.0%}"
    headings = ("<claim", "<claimed", "assumed", "power", f"detectable at {target}", f"seeds for {target}")
    return Grid("Detectable effects", headings, (tuple(map(_line, powers)),))


def _line(found: ClaimPower) -> tuple[str, ...]:
    sizes = [each.within if each.within is not None else each.effect for each in found.claim.primary]
    metrics = [each.metric for each in found.claim.primary]
    detectable = [
        signed(found.factor * size, DECIMALS[metric]) if found.factor is not None else ""
        for size, metric in zip(sizes, metrics, strict=True)
    ]
    return (
        found.claim.id,
        "; ".join(map(claimed, found.claim.primary)),
        "; ".join(map(effect_assumed, found.claim.primary)),
        "" if found.power is None else f"{found.power:.0%}",
        "; ".join(filter(None, detectable)),
        _seeds_text(found),
    )
