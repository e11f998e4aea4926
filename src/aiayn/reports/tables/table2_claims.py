"""The paper's claims on Table 2: their verdicts, and the comparisons behind these."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from aiayn.evaluation.decisions import Hypothesis, decide
from aiayn.evaluation.significance import Effect, EffectContent, Measured
from aiayn.paper.table2_claims import Above, Beats, Cheaper, Conclusion, Table2Claim
from aiayn.paper.tables import load_table2
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import columns
from aiayn.reports.numbers import effect_text, operations, signed
from aiayn.reports.verdicts import Verdict, verdict_of, verdict_of_test


@dataclass(frozen=True)
class TestedSystem:
    """Our finished runs of a row of the table."""

    measured: Measured
    """sacreBLEU of all systems of this language pair on the same sentences."""
    place: int
    """Of this one among them."""
    bleu: float | None
    """By the paper's definition; None if that was not recorded."""
    flops: float | None
    """By the paper's definition."""
    is_papers: bool
    """Whether it compares with the printed numbers: of the paper's scale, on newstest2014."""


MISSING = "no finished run"
ELSEWHERE = "these runs do not compare with printed numbers"
ONE_SEED = "no model has two seeds"

Systems = Mapping[tuple[str, str], TestedSystem]
"""By row and language pair."""


@dataclass(frozen=True)
class ConclusionContent:
    """One comparison of a claim, with the numbers behind its verdict."""

    claimed: str
    """The claim in symbols."""
    paper: str
    """BLEU: the printed row minus the number that it is compared with; FLOPs: the printed ones."""
    reason: str | None
    """Why it was not tested; None if it was."""
    difference: EffectContent | None
    """Our difference of BLEU; None for FLOPs and if there is nothing to test."""
    flops: float | None
    """Our FLOPs by the paper's definition; None for BLEU and if they are not compared."""
    verdict: Verdict
    """The verdict of the comparison."""


@dataclass(frozen=True)
class Table2ClaimContent:
    """A claim with its verdict."""

    id: str
    """The name of the claim."""
    verdict: Verdict
    """The verdict of the claim, by those of its comparisons."""
    comparisons: tuple[ConclusionContent, ...]
    """The comparisons that the claim consists of."""


@dataclass(frozen=True)
class JudgedConclusion:
    """One comparison, as text."""

    claimed: str
    paper: str
    """BLEU: the printed row minus the number that it is compared with; FLOPs: the printed ones."""
    effect: Effect | None = None
    """The difference of BLEU; None for FLOPs and if there is nothing to test."""
    flops: float | None = None
    verdict: Verdict = Verdict.not_tested
    reason: str = ""
    """Why it was not tested."""

    @property
    def ours(self) -> str:
        """Like `paper`, BLEU with its 95% interval; empty if there is nothing to compare."""
        return effect_text(self.effect, 2) if self.flops is None else operations(self.flops)

    @property
    def content(self) -> ConclusionContent:
        """The comparison in a document for programs."""
        difference = None if self.effect is None else self.effect.content
        return ConclusionContent(self.claimed, self.paper, self.reason or None, difference, self.flops, self.verdict)


@dataclass(frozen=True)
class JudgedTable2Claim:
    """A claim with its verdict."""

    claim: Table2Claim
    comparisons: Sequence[JudgedConclusion]

    @property
    def verdict(self) -> Verdict:
        """By the verdicts of its comparisons."""
        return verdict_of([each.verdict for each in self.comparisons])

    @property
    def content(self) -> Table2ClaimContent:
        """The claim in a document for programs."""
        return Table2ClaimContent(self.claim.id, self.verdict, tuple(each.content for each in self.comparisons))


def judge_claims(claims: Sequence[Table2Claim], systems: Systems) -> list[JudgedTable2Claim]:
    """Compare claims with the rows that have finished runs.

    BLEU is tested at 2.5% one-sided, contradictions after correction over the table; costs are compared without a test.
    """
    compared = [_compared(comparison, systems) for claim in claims for comparison in claim.comparisons]
    tests = decide([Hypothesis({}, 1)] * len(compared), *columns([each.effect for each in compared]))
    judged = (
        each if each.effect is None or each.reason else replace(each, verdict=verdict_of_test(*outcome))
        for each, *outcome in zip(compared, tests.supported, tests.contradicted, strict=True)
    )
    return [JudgedTable2Claim(claim, tuple(islice(judged, len(claim.comparisons)))) for claim in claims]


def _compared(comparison: Conclusion, found: Systems) -> JudgedConclusion:
    match comparison:
        case Above():
            return _above(comparison, found)
        case Beats():
            return _beats(comparison, found.get((comparison.row, comparison.pair)))
        case Cheaper():
            return _cheaper(comparison, found.get((comparison.row, comparison.pair)))


def _above(comparison: Above, found: Systems) -> JudgedConclusion:
    rows, pair = (comparison.above, comparison.below), comparison.pair
    better, worse = (load_table2().row(row).cell(pair).number for row in rows)
    claimed = f"{_subject(rows[0], pair)} > {_model(rows[1])}"
    ours, theirs = (found.get((row, pair)) for row in rows)
    effect = ours.measured.difference(ours.place, theirs.place) if ours and theirs else None
    return _by_effect(claimed, signed(better - worse, 1), effect)


def _beats(comparison: Beats, system: TestedSystem | None) -> JudgedConclusion:
    row, pair, baseline = comparison.row, comparison.pair, comparison.baseline
    mark = f"{baseline.cell(pair)}{f' + {comparison.by}' if float(comparison.by) else ''}"
    claimed = f"{_subject(row, pair)} > {mark} ({baseline.label})"
    paper = signed(load_table2().row(row).cell(pair).number - comparison.mark, 2)
    if system is None or not system.is_papers or system.bleu is None:
        return JudgedConclusion(claimed, paper, reason=ELSEWHERE if system else MISSING)
    # The standard error is that of sacreBLEU; the estimate is by the paper's definition.
    effect = replace(system.measured.score(system.place), estimate=system.bleu - comparison.mark)
    return _by_effect(claimed, paper, effect)


def _cheaper(comparison: Cheaper, system: TestedSystem | None) -> JudgedConclusion:
    row, column, baseline = comparison.row, comparison.column, comparison.baseline
    mark = f"{f'{comparison.share} x ' if float(comparison.share) != 1 else ''}{baseline.cell(column)}"
    claimed = f"{_subject(row, column)} < {mark} ({baseline.label})"
    # The Transformer's costs are printed once, in the column of English-German.
    paper = operations(load_table2().row(row).flops_en_de.number)
    if system is None or not system.is_papers or system.flops is None:
        return JudgedConclusion(claimed, paper, reason=ELSEWHERE if system else MISSING)
    verdict = Verdict.reproduced if system.flops < comparison.mark else Verdict.contradicted
    return JudgedConclusion(claimed, paper, flops=system.flops, verdict=verdict)


def _by_effect(claimed: str, paper: str, effect: Effect | None) -> JudgedConclusion:
    if effect is None:
        return JudgedConclusion(claimed, paper, reason=MISSING)
    return JudgedConclusion(claimed, paper, effect, reason=ONE_SEED if effect.error is None else "")


def _model(row: str) -> str:
    return row.removeprefix("transformer_")


def _subject(row: str, column: str) -> str:
    heading = next(each.heading for each in load_table2().columns if each.id == column)
    return f"{heading} of {_model(row)}"


def claim_grids(claims: Sequence[JudgedTable2Claim]) -> Iterator[Grid]:
    """The claims with their verdicts, and the comparisons behind them."""
    yield Grid(
        "Claims of the paper in section 6.1 and their verdicts",
        ("<id", "<claim", "<verdict"),
        (tuple((each.claim.id, each.claim.statement, each.verdict.value) for each in claims),),
    )
    yield Grid(
        "The comparisons behind the verdicts",
        ("<claim", "<claimed", "paper", "ours", "<verdict"),
        tuple(
            tuple((each.claim.id, one.claimed, one.paper, one.ours, one.verdict.value) for one in each.comparisons)
            for each in claims
        ),
    )


def untested_remarks(claims: Sequence[JudgedTable2Claim]) -> Iterator[str]:
    """Why claims were not tested."""
    for judged in claims:
        if judged.verdict is Verdict.not_tested:
            reasons = dict.fromkeys(each.reason for each in judged.comparisons if each.reason)
            yield f"Not tested: {judged.claim.id}: {', '.join(reasons)}."
