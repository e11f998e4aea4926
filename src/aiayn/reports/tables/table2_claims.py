"""The paper's claims on Table 2: their verdicts, and the comparisons behind these."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiayn.evaluation.significance import Interval, Resampled
from aiayn.paper.table2_claims import Above, Beats, Cheaper, Conclusion, Table2Claim
from aiayn.paper.tables import load_table2
from aiayn.reports.formats import Grid
from aiayn.reports.numbers import interval_text, operations, signed
from aiayn.reports.verdicts import Verdict, all_hold, verdict_of_side


@dataclass(frozen=True)
class TestedSystem:
    """Our finished runs of a row of the table."""

    row: str
    pair: str
    measured: Resampled
    """sacreBLEU of all systems of this language pair over the same draws of sentences."""
    place: int
    """Of this one among them."""
    bleu: float | None
    """By the paper's definition; None if that was not recorded."""
    flops: float | None
    """By the paper's definition."""
    is_papers: bool
    """Whether it compares with the printed numbers: of the paper's scale, on newstest2014."""


Systems = Mapping[tuple[str, str], TestedSystem]
"""By row and language pair."""


@dataclass(frozen=True)
class JudgedConclusion:
    """One comparison, as text."""

    claimed: str
    paper: str
    """BLEU: the printed row minus the number that it is compared with; FLOPs: the printed ones."""
    ours: str = ""
    """Likewise, BLEU with its 95% interval; empty if there is nothing to compare."""
    verdict: Verdict = Verdict.pending


@dataclass(frozen=True)
class JudgedTable2Claim:
    """A claim with its verdict."""

    claim: Table2Claim
    verdict: Verdict
    comparisons: Sequence[JudgedConclusion]


def judge(claim: Table2Claim, systems: Sequence[TestedSystem]) -> JudgedTable2Claim:
    """Compare a claim with the rows that have finished runs."""
    found = {(each.row, each.pair): each for each in systems}
    judged = [_judged(comparison, found) for comparison in claim.comparisons]
    return JudgedTable2Claim(claim, all_hold([each.verdict for each in judged]), judged)


def _judged(comparison: Conclusion, found: Systems) -> JudgedConclusion:
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
    interval = ours.measured.difference(ours.place, theirs.place) if ours and theirs else None
    return _by_interval(claimed, signed(better - worse, 1), interval)


def _beats(comparison: Beats, system: TestedSystem | None) -> JudgedConclusion:
    row, pair, baseline = comparison.row, comparison.pair, comparison.baseline
    mark = f"{baseline.cell(pair)}{f' + {comparison.by}' if float(comparison.by) else ''}"
    claimed = f"{_subject(row, pair)} > {mark} ({baseline.label})"
    paper = signed(load_table2().row(row).cell(pair).number - comparison.mark, 2)
    if system is None:
        return JudgedConclusion(claimed, paper)
    if not system.is_papers or system.bleu is None:
        return JudgedConclusion(claimed, paper, verdict=Verdict.incomparable)
    # sacreBLEU's resamples give the width of the interval, the paper's definition of BLEU its centre.
    interval = system.measured.interval(system.place).around(system.bleu - comparison.mark)
    return _by_interval(claimed, paper, interval)


def _cheaper(comparison: Cheaper, system: TestedSystem | None) -> JudgedConclusion:
    row, column, baseline = comparison.row, comparison.column, comparison.baseline
    mark = f"{f'{comparison.share} x ' if float(comparison.share) != 1 else ''}{baseline.cell(column)}"
    claimed = f"{_subject(row, column)} < {mark} ({baseline.label})"
    # The Transformer's costs are printed once, in the column of English-German.
    paper = operations(load_table2().row(row).flops_en_de.number)
    if system is None:
        return JudgedConclusion(claimed, paper)
    if not system.is_papers or system.flops is None:
        return JudgedConclusion(claimed, paper, verdict=Verdict.incomparable)
    verdict = Verdict.reproduced if system.flops < comparison.mark else Verdict.contradicted
    return JudgedConclusion(claimed, paper, operations(system.flops), verdict)


def _by_interval(claimed: str, paper: str, interval: Interval | None) -> JudgedConclusion:
    if interval is None:
        return JudgedConclusion(claimed, paper)
    verdict = verdict_of_side(holds=interval.low > 0, fails=interval.high < 0)
    return JudgedConclusion(claimed, paper, interval_text(interval, 2), verdict)


def _model(row: str) -> str:
    return row.removeprefix("transformer_")


def _subject(row: str, column: str) -> str:
    heading = next(each.heading for each in load_table2().columns if each.id == column)
    return f"{heading} of {_model(row)}"


def claim_grids(claims: Sequence[JudgedTable2Claim]) -> Iterator[Grid]:
    """The claims with their verdicts, and the comparisons behind them."""
    yield Grid(
        "What the paper concludes in section 6.1, and what these runs say",
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


def plain_claim(judged: JudgedTable2Claim) -> dict[str, Any]:
    """For JSON."""
    comparisons = [vars(each) for each in judged.comparisons]
    return {"id": judged.claim.id, "verdict": judged.verdict, "comparisons": comparisons}
