"""The scope of verdicts: scale, steps, warm-up, passes over the data and seeds of the runs, and the claims tested."""

from collections import Counter
from collections.abc import Sequence

from aiayn.paper.claims import Claim
from aiayn.reports.comparability import RowRun
from aiayn.reports.judgement import JudgedClaim
from aiayn.reports.verdicts import Verdict


def scope_sentence(finished: Sequence[RowRun], claims: Sequence[JudgedClaim]) -> str:
    """The first sentence of a report; empty without finished runs, and if the paper's scale tests every claim."""
    if not finished:
        return ""
    tested = [judged.claim for judged in claims if judged.verdict is not Verdict.not_tested]
    if finished[0].record.scale == "paper" and len(tested) == len(claims):
        return ""
    can_test = "test none of the paper's claims"
    if tested:
        can_test = f"test the paper's claims on {_subjects(tested)}, for models of their own size and budget"
    return f"These runs ({_facts(finished)}) {can_test}."


def _subjects(claims: Sequence[Claim]) -> str:
    *others, last = dict.fromkeys(claim.about for claim in claims)
    return f"{', '.join(others)} and {last}" if others else last


def _warm_up(run: RowRun) -> float:
    """As a share of the steps."""
    return min(1.0, int(run.settings.get("optimization.warmup_steps", 0)) / max(1, run.record.steps))


def _epochs(run: RowRun) -> float | None:
    """Passes over the training data; None if the record does not say."""
    train = run.record.data_counts.get("train") or {}
    tokens = train.get("source_tokens", 0) + train.get("target_tokens", 0)
    return run.record.tokens / tokens if tokens and run.record.tokens else None


def _facts(finished: Sequence[RowRun]) -> str:
    seeds = list(Counter(run.row.id for run in finished).values())
    epochs = [found for run in finished if (found := _epochs(run)) is not None]
    facts = [
        f"scale {finished[0].record.scale}",
        f"{_span([run.record.steps for run in finished], '{:,.0f}')} steps",
        f"warm-up over {_span([100 * _warm_up(run) for run in finished], '{:.0f}')}% of them",
    ]
    if epochs:
        facts.append(f"{_span(epochs, '{:.1f}')} passes over the training data")
    return ", ".join([*facts, f"{_span(seeds, '{:.0f}')} {'seed' if max(seeds) == 1 else 'seeds'} a row"])


def _span(values: Sequence[float], shown: str) -> str:
    low, high = shown.format(min(values)), shown.format(max(values))
    return low if low == high else f"{low} to {high}"
