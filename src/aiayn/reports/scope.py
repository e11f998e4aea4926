"""The claims on Table 3 that runs can test, by their steps, warm-up, passes over the data and seeds."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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

PAPER = "paper"
"""The scale whose sizes and budget are the paper's."""


@dataclass(frozen=True)
class Scope:
    """The claims that finished runs can test."""

    sentence: str
    """For the head of a report; empty if the runs are of the paper's scale and test every claim."""
    not_evidence: frozenset[str]
    """The claims, by id, on which these runs are no evidence."""


EVERYTHING = Scope("", frozenset())
"""Of runs of the paper's own scale, and before there are any."""


@dataclass(frozen=True)
class Budget:
    """The training budget of one run."""

    row: str
    steps: int
    warm_up: float
    """Share of the steps."""
    epochs: float | None
    """Passes over the training data; None if the record does not say."""

    @classmethod
    def of(cls, run: RowRun) -> "Budget":
        """Of a finished run, from its record and its frozen configuration."""
        train = run.record.data_counts.get("train") or {}
        tokens = train.get("source_tokens", 0) + train.get("target_tokens", 0)
        return cls(
            row=run.row.id,
            steps=run.record.steps,
            warm_up=min(1.0, int(run.settings.get("optimization.warmup_steps", 0)) / max(1, run.record.steps)),
            epochs=run.record.tokens / tokens if tokens and run.record.tokens else None,
        )

    @property
    def lacks(self) -> Collection[Need]:
        """The conditions that it does not meet."""
        lacking = {Need.converged} if self.warm_up > LARGEST_WARM_UP else set()
        return lacking | ({Need.many_epochs} if self.epochs is not None and self.epochs < FEWEST_EPOCHS else set())


def scope_of(finished: Sequence[RowRun]) -> Scope:
    """The claims that finished runs of one scale can test."""
    if not finished:
        return EVERYTHING
    budgets = [Budget.of(run) for run in finished]
    lacking: Mapping[str, Collection[Need]] = {
        claim.id: claim.needs & {need for budget in budgets if budget.row in claim.rows for need in budget.lacks}
        for claim in load_claims()
        if claim.rows <= {budget.row for budget in budgets}
    }
    not_evidence = frozenset(claim for claim, needs in lacking.items() if needs)
    scale = finished[0].record.scale
    if scale == PAPER and not not_evidence:
        return EVERYTHING
    reasons = [REASONS[need] for need in Need if any(need in needs for needs in lacking.values())]
    tested = [claim for claim in load_claims() if claim.id in lacking.keys() - not_evidence]
    parts = [f"These runs ({_facts(scale, finished, budgets)}) {_can_test(tested)}."]
    if not_evidence:
        open_claims = [claim for claim in load_claims() if claim.id in not_evidence]
        parts.append(f"Their verdicts on {_subjects(open_claims)} are not evidence: {'; '.join(reasons)}.")
    return Scope(" ".join(parts), not_evidence)


def _can_test(claims: Sequence[Claim]) -> str:
    if not claims:
        return "test none of the paper's claims"
    return f"can test at most what the paper says of {_subjects(claims)}, for models of their own size and budget"


def _subjects(claims: Sequence[Claim]) -> str:
    *others, last = dict.fromkeys(claim.about for claim in claims)
    return f"{', '.join(others)} and {last}" if others else last


def _facts(scale: str, finished: Sequence[RowRun], budgets: Sequence[Budget]) -> str:
    seeds = list(Counter(run.row.id for run in finished).values())
    epochs = [budget.epochs for budget in budgets if budget.epochs is not None]
    facts = [
        f"scale {scale}",
        f"{_span([budget.steps for budget in budgets], '{:,.0f}')} steps",
        f"warm-up over {_span([100 * budget.warm_up for budget in budgets], '{:.0f}')}% of them",
    ]
    if epochs:
        facts.append(f"{_span(epochs, '{:.1f}')} passes over the training data")
    return ", ".join([*facts, f"{_span(seeds, '{:.0f}')} {'seed' if max(seeds) == 1 else 'seeds'} a row"])


def _span(values: Sequence[float], shown: str) -> str:
    low, high = shown.format(min(values)), shown.format(max(values))
    return low if low == high else f"{low} to {high}"
