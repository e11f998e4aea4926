"""Claims judged: what can be tested, the tests, and what may be said beside a verdict."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from aiayn.evaluation.decisions import EQUIVALENCE_LEVEL, LEVEL, Hypothesis, decide, lasting, opposite_steps
from aiayn.evaluation.significance import Effect, EffectContent, Floats
from aiayn.paper.claims import Claim, Comparison, Metric
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.verdicts import DECIDED, Verdict, verdict_of, verdict_of_test

FEWEST_SEEDS = 5
"""The fewest seeds of a row of a study's claim: its variance between seeds is its own."""

LEARNED_SHARE = 0.5
"""A row has learned if its BLEU is at least this share of base's."""

LEAST_BLEU = 1.0
"""Base has learned if its BLEU is at least this."""


@dataclass(frozen=True)
class Rules:
    """How a table is judged."""

    base: str
    """The row that others are compared with."""
    pooled: bool
    """Whether the variance between seeds is that of all rows together; else each row's own."""
    fewest_seeds: int = 1
    """The fewest seeds of each row of a claim."""
    floor: float | None = None
    """The log PPL below which no model can be expected on this corpus; None: unknown."""


STUDY = Rules("base", pooled=False, fewest_seeds=FEWEST_SEEDS)
"""Of pre-registered studies, but for their base and floor."""


@dataclass(frozen=True)
class JudgedComparisonContent:
    """One comparison of a claim, with the numbers behind its verdict."""

    metric: Metric
    """The metric that is compared."""
    weights: Mapping[str, float]
    """The weights of the rows in the contrast."""
    claimed: str
    """The claim in symbols."""
    stated_effect: float
    """The contrast that the paper prints, or that the study states."""
    contrast: EffectContent | None
    """Our contrast; None if one of its rows has no finished run."""
    verdict: Verdict
    """The verdict of the comparison."""
    p_supported: float | None
    """One-sided p-value of the claim; None where it was not tested."""
    p_contradicted: float | None
    """One-sided p-value of the contradiction before Holm's correction; None where it was not tested."""
    lasts: bool | None
    """Whether the contrast that the curves lead to still excludes 0 on the same side; None if unknown."""
    is_smaller: bool
    """Whether the interval excludes the stated effect, on the side of a smaller one."""


@dataclass(frozen=True)
class ClaimContent:
    """A claim with its verdict."""

    claim: str
    """The name of the claim."""
    statement: str
    """The claim in words."""
    verdict: Verdict
    """The verdict of the claim."""
    reason: str | None
    """Why the claim was not tested; None if it was."""
    power: float | None
    """The probability of "reproduced" if the assumed effects are true; None if no plan computed it."""
    closing: bool | None
    """Whether a decided claim is not shown to outlast the budget; None if it is not decided, or this is unknown."""
    opposite_steps: tuple[str, ...]
    """The steps of a trend that are significantly opposite."""
    primary: tuple[JudgedComparisonContent, ...]
    """The comparisons that decide."""
    secondary: tuple[JudgedComparisonContent, ...]
    """Further comparisons, which do not affect the verdict."""


@dataclass(frozen=True)
class JudgedComparison:
    """One comparison with the numbers behind its verdict."""

    comparison: Comparison
    effect: Effect | None
    """The contrast; None if one of its rows has no finished run."""
    verdict: Verdict
    p_supported: float | None
    """One-sided p-value of the claim; None where it was not tested."""
    p_contradicted: float | None
    """One-sided p-value of the contradiction before Holm's correction; None where it was not tested."""
    lasts: bool | None = None
    """Whether the contrast that the curves lead to still excludes 0 on the same side; None if unknown."""
    is_smaller: bool = False
    """Whether the interval excludes the stated effect, on the side of a smaller one."""

    @property
    def content(self) -> JudgedComparisonContent:
        """The comparison in a document for programs."""
        return JudgedComparisonContent(
            metric=self.comparison.metric,
            weights=self.comparison.weights,
            claimed=self.comparison.text,
            stated_effect=self.comparison.effect,
            contrast=None if self.effect is None else self.effect.content,
            verdict=self.verdict,
            p_supported=self.p_supported,
            p_contradicted=self.p_contradicted,
            lasts=self.lasts,
            is_smaller=self.is_smaller,
        )


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    reason: str
    """Why it was not tested; empty if it was."""
    power: float | None
    """The probability of "reproduced" if the assumed effects are true; None if no plan computed it."""
    primary: tuple[JudgedComparison, ...]
    secondary: tuple[JudgedComparison, ...]
    opposite_steps: tuple[str, ...] = ()
    """Steps of a slope that are significantly opposite, as in "c_n8 after base"."""

    @property
    def is_closing(self) -> bool | None:
        """Whether a decided claim is not shown to outlast the budget; None if it is not decided, or this is unknown."""
        deciding = [each.lasts for each in self.primary if each.verdict is self.verdict]
        if self.verdict not in DECIDED or None in deciding:
            return None
        return not (all(deciding) if self.verdict is Verdict.reproduced else any(deciding))

    @property
    def content(self) -> ClaimContent:
        """The claim in a document for programs."""
        return ClaimContent(
            claim=self.claim.id,
            statement=self.claim.statement,
            verdict=self.verdict,
            reason=self.reason or None,
            power=self.power,
            closing=self.is_closing,
            opposite_steps=self.opposite_steps,
            primary=tuple(each.content for each in self.primary),
            secondary=tuple(each.content for each in self.secondary),
        )


def judge_claims(
    claims: Sequence[Claim],
    rows: MeasuredRows,
    rules: Rules,
    *,
    projected: MeasuredRows | None = None,
    powers: Mapping[str, float | None] | None = None,
    lacking: Callable[[Claim], str] = lambda _: "",
) -> tuple[JudgedClaim, ...]:
    """Judge all claims of a table.

    Args:
        claims: all claims of the table; Holm's correction is over all their primary comparisons, tested or not.
        rows: the measurements.
        rules: how they are judged.
        projected: the measurements that the curves lead to; None: unknown.
        powers: the power of each claim by id, as computed before the runs; None: no plan computed it.
        lacking: why a claim's runs do not suffice yet; empty: it has all planned ones.
    """
    reasons = [lacking(claim) or _untestable(claim, claim.may_fail, rows, rules) for claim in claims]
    verdicts = {each.claim.id: each.verdict for each in _judged(claims, reasons, rows, rules, projected, powers or {})}
    for number, claim in enumerate(claims):
        if claim.requires is not None and verdicts.get(claim.requires) is not Verdict.reproduced:
            unmet = f"{claim.requires} is not reproduced, so that there is no effect to compare a likeness with"
            reasons[number] = reasons[number] or unmet
    return tuple(_judged(claims, reasons, rows, rules, projected, powers or {}))


def _untestable(claimed: Claim | Comparison, may_fail: bool, rows: MeasuredRows, rules: Rules) -> str:
    """Why rows cannot be compared, in words; empty if they can.

    Rows that learn badly can be, if they may fail. A run without a finite score always leaves its row without a mean.
    """
    if missing := [row for row in claimed.rows if row not in rows.places]:
        return f"no finished run of {', '.join(missing)}"
    if rows.by(Metric.ppl).noise is None:
        return "no row has two seeds, so the variation between seeds is unknown"
    if few := [f"{row} has {rows.seeds(row)}" for row in claimed.rows if rows.seeds(row) < rules.fewest_seeds]:
        return f"at least {rules.fewest_seeds} seeds of each row are needed: {', '.join(few)}"
    ends = rows.compared(Metric.ppl)
    if lost := [row for row in claimed.rows if not math.isfinite(ends[row])]:
        return f"training failure: no finite log PPL at the end of a run of {', '.join(lost)}"
    return "" if may_fail else training_failures(claimed.rows, rows, rules.base)


def training_failures(names: Collection[str], rows: MeasuredRows, base: str) -> str:
    """The rows that have not learned, in words."""
    bleu = rows.compared(Metric.bleu)
    if base not in bleu:
        return ""
    if not bleu[base] >= LEAST_BLEU:
        return f"training failure: {base} has {bleu[base]:.1f} BLEU"
    failed = [f"{row} has {bleu[row]:.1f} BLEU" for row in names if not bleu[row] >= LEARNED_SHARE * bleu[base]]
    return f"training failure: {', '.join(failed)}, {base} {bleu[base]:.1f}" if failed else ""


def _judged(
    claims: Sequence[Claim],
    reasons: Sequence[str],
    rows: MeasuredRows,
    rules: Rules,
    projected: MeasuredRows | None,
    powers: Mapping[str, float | None],
) -> Iterator[JudgedClaim]:
    """The claims, of which those with a reason are not tested."""
    primary, secondary = [], []
    for claim, reason in zip(claims, reasons, strict=True):
        primary += [(each, not reason) for each in claim.primary]
        secondary += [
            (each, not reason and not _untestable(each, claim.may_fail, rows, rules)) for each in claim.secondary
        ]
    judged, also = _compared(primary, rows, rules, projected), _compared(secondary, rows, rules, None)
    for claim, reason in zip(claims, reasons, strict=True):
        of_claim = tuple(islice(judged, len(claim.primary)))
        further = tuple(islice(also, len(claim.secondary)))
        opposite = [step for each in claim.primary for step in _opposite_steps(each, rows, rules) if not reason]
        power = powers.get(claim.id)
        verdict = verdict_of([each.verdict for each in of_claim], is_monotone=not opposite, power=power)
        yield JudgedClaim(claim, verdict, reason, power, of_claim, further, tuple(opposite))


def _compared(
    family: Sequence[tuple[Comparison, bool]], rows: MeasuredRows, rules: Rules, projected: MeasuredRows | None
) -> Iterator[JudgedComparison]:
    """Comparisons that are tested together; those that are not tested (False) count in the correction."""
    effects = [_effect(each, rows, rules) for each, _ in family]
    # Curves, and so what they lead to, are of log PPL.
    late = [
        None if projected is None or each.metric is not Metric.ppl else _effect(each, projected, rules)
        for each, _ in family
    ]
    hypotheses = [hypothesis(each) for each, _ in family]
    tested = [effect if is_tested else None for effect, (_, is_tested) in zip(effects, family, strict=True)]
    found, projections = decide(hypotheses, *columns(tested)), columns(late)
    lasts = lasting(hypotheses, found, decide(hypotheses, *projections))
    is_projected = np.isfinite(projections[1])
    for n, ((comparison, is_tested), effect) in enumerate(zip(family, effects, strict=True)):
        verdict = verdict_of_test(found.supported[n], found.contradicted[n]) if is_tested else Verdict.not_tested
        may_be_smaller = verdict in (Verdict.reproduced, Verdict.undecided)
        yield JudgedComparison(
            comparison=comparison,
            effect=effect,
            verdict=verdict,
            p_supported=float(found.p_supported[n]) if is_tested else None,
            p_contradicted=float(found.p_contradicted[n]) if is_tested else None,
            lasts=bool(lasts[n]) if verdict in DECIDED and is_projected[n] else None,
            is_smaller=may_be_smaller and _is_smaller(comparison, effect, rows, rules),
        )


def columns(effects: Sequence[Effect | None]) -> tuple[Floats, Floats, Floats]:
    """Estimates, standard errors and degrees of freedom, as tests take them; NaN where no error is known."""
    known = [
        (math.nan,) * 3 if each is None or each.error is None else (each.estimate, each.error, each.freedom)
        for each in effects
    ]
    values, errors, freedoms = np.array(known, dtype=np.float64).reshape(-1, 3).T
    return values, errors, freedoms


def hypothesis(comparison: Comparison, places: Mapping[str, int] | None = None, effect: float = 0.0) -> Hypothesis:
    """The hypothesis of a comparison.

    Args:
        comparison: the comparison.
        places: the index of each row; None for a test of a contrast that is computed already.
        effect: the contrast that is assumed where power is computed.
    """
    level = LEVEL if comparison.alike is None else EQUIVALENCE_LEVEL
    weights = {} if places is None else {places[row]: weight for row, weight in comparison.weights.items()}
    return Hypothesis(weights, comparison.metric.sign, level, effect, list(Metric).index(comparison.metric))


def _effect(comparison: Comparison, rows: MeasuredRows, rules: Rules) -> Effect | None:
    """The contrast with the interval that decides: of a likeness the 90% one."""
    effect = rows.contrast(comparison.metric, comparison.weights, pooled=rules.pooled)
    if effect is None or comparison.alike is None:
        return effect
    return replace(effect, estimate=effect.estimate + comparison.shift, confidence=1 - 2 * EQUIVALENCE_LEVEL)


def _is_smaller(comparison: Comparison, effect: Effect | None, rows: MeasuredRows, rules: Rules) -> bool:
    """Whether an interval excludes the stated effect of an ordering, where the corpus leaves room for it."""
    if effect is None or comparison.alike is not None:
        return False
    sign = comparison.metric.sign
    end = effect.high if sign > 0 else effect.low
    if end is None or not sign * end < sign * comparison.effect:
        return False
    return expected_scores(comparison, rows.compared(comparison.metric), rules)[1] == comparison.effect


def expected_scores(
    comparison: Comparison, measured: Mapping[str, float], rules: Rules
) -> tuple[dict[str, float], float]:
    """The stated scores of a comparison's rows at the measured level of one of them, and their contrast.

    Scores of log PPL that would lie below the floor of the corpus are put there. The level is that of base, or of the
    row whose stated score is the worst.

    Args:
        comparison: the comparison.
        measured: the score of each row, or of base alone.
        rules: which row is base, and the floor.
    """
    stated, sign = comparison.scores, comparison.metric.sign
    anchor = rules.base if rules.base in stated else min(stated, key=lambda row: sign * stated[row])
    level = measured.get(anchor)
    if comparison.metric is not Metric.ppl or rules.floor is None or level is None:
        return dict(stated), comparison.effect
    scores = {row: level + score - stated[anchor] for row, score in stated.items()}
    if min(scores.values()) >= rules.floor:
        return scores, comparison.effect
    capped = {row: max(min(level, rules.floor), score) for row, score in scores.items()}
    return capped, comparison.contrast(capped)


def _opposite_steps(comparison: Comparison, rows: MeasuredRows, rules: Rules) -> Iterator[str]:
    """The steps of a slope that are significantly opposite, in words."""
    pairs = [{larger: 1.0, smaller: -1.0} for larger, smaller in comparison.steps]
    effects = [rows.contrast(comparison.metric, each, pooled=rules.pooled) for each in pairs]
    opposite = opposite_steps(comparison.metric.sign, *columns(effects))
    return (" after ".join(step) for step, is_so in zip(comparison.steps, opposite, strict=True) if is_so)
