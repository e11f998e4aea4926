"""The claims on Table 3 that runs can test, by their steps, warm-up, passes over the data and seeds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from aiayn.paper.claims import Claim, Need, load_claims
from aiayn.reports.comparability import RowRun

LARGEST_WARM_UP = 0.25
"""Share of the steps above which training ends too soon after the warm-up to compare converged models."""

FEWEST_EPOCHS = 10
"""Passes over the training data below which a model hardly over-fits."""

REASONS = {
    Need.converged: "training ends soon after the warm-up, while perplexity still falls fast, so that a difference "
    "shows how early a model begins to learn",
    Need.many_epochs: "in so few passes over the data a model hardly over-fits",
}
"""Why a verdict is no evidence if a condition is not met."""


@dataclass(frozen=True)
class Scope:
    """The claims that finished runs can test."""

    sentence: str = ""
    """For the head of a report; empty if the runs are of the paper's scale and test every claim."""
    not_evidence: frozenset[str] = frozenset()
    """The claims, by id, on which these runs are no evidence."""


def _warm_up(run: RowRun) -> float:
    """As a share of the steps."""
    return min(1.0, int(run.settings.get("optimization.warmup_steps", 0)) / max(1, run.record.steps))


def _epochs(run: RowRun) -> float | None:
    """Passes over the training data; None if the record does not say."""
    train = run.record.data_counts.get("train") or {}
    tokens = train.get("source_tokens", 0) + train.get("target_tokens", 0)
    return run.record.tokens / tokens if tokens and run.record.tokens else None


def _lacks(run: RowRun) -> set[Need]:
    """The conditions that a run does not meet."""
    epochs = _epochs(run)
    lacking = {Need.converged: _warm_up(run) > LARGEST_WARM_UP}
    lacking[Need.many_epochs] = epochs is not None and epochs < FEWEST_EPOCHS
    return {need for need, is_lacking in lacking.items() if is_lacking}


def scope_of(finished: Sequence[RowRun]) -> Scope:
    """The claims that finished runs of one scale can test."""
    if not finished:
        return Scope()
    rows = {run.row.id for run in finished}
    lacking = {
        claim: claim.needs & {need for run in finished if run.row.id in claim.rows for need in _lacks(run)}
        for claim in load_claims()
        if claim.rows <= rows
    }
    tested, untested = ([claim for claim in lacking if bool(lacking[claim]) is lacks] for lacks in (False, True))
    if finished[0].record.scale == "paper" and not untested:
        return Scope()
    can_test = "test none of the paper's claims"
    if tested:
        subjects = _subjects(tested)
        can_test = f"can test at most what the paper says of {subjects}, for models of their own size and budget"
    sentence = f"These runs ({_facts(finished)}) {can_test}."
    if untested:
        reasons = [REASONS[need] for need in Need if any(need in needs for needs in lacking.values())]
        sentence += f" Their verdicts on {_subjects(untested)} are not evidence: {'; '.join(reasons)}."
    return Scope(sentence, frozenset(claim.id for claim in untested))


def _subjects(claims: Sequence[Claim]) -> str:
    *others, last = dict.fromkeys(claim.about for claim in claims)
    return f"{', '.join(others)} and {last}" if others else last


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
