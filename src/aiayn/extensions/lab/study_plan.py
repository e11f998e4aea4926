"""The plan of a pre-registered study on the terminal: its cost, and its power by budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from aiayn.extensions.lab.power import Budget, BudgetContent, ClaimPower, budget_grid, power_grid
from aiayn.extensions.lab.registrations import HASH_DIGITS, StudyPlan, read_registration, registration_file
from aiayn.registry import named, plans
from aiayn.reports.content import Content
from aiayn.reports.formats import console, print_content, print_grid, print_text
from aiayn.runs.plan import Plan, PlanTotal
from aiayn.system import files
from aiayn.system.output_format import Format, output_format


@dataclass(frozen=True)
class StudyCosts:
    """The costs of a row of a pre-registered study."""

    row: str
    """Name of the row."""
    runs: int
    """Planned runs."""
    plan: Plan
    """The cost of one run."""


@dataclass(frozen=True)
class PlannedClaim:
    """The power of a study for a claim."""

    claim: str
    """Name of the claim."""
    power: float | None
    """Power for the assumed effects; None if unknown."""
    effects: tuple[float, ...]
    """The assumed contrast of each primary comparison."""


@dataclass(frozen=True)
class StudyPlanContent(Content):
    """The cost of a pre-registered study, and its power: aiayn plan sweeps=<study>."""

    schema: ClassVar = "study-plan/3"

    rows: tuple[StudyCosts, ...]
    """The rows that can be planned."""
    total: PlanTotal
    """The sums over runs."""
    remarks: tuple[str, ...]
    """Assumptions, and costs that are not included."""
    claims: tuple[PlannedClaim, ...]
    """The claims."""
    few_seeds: tuple[str, ...]
    """Claims that no verdict can be given on, since a row has too few seeds."""
    budgets: tuple[BudgetContent, ...]
    """Power by steps and seeds."""
    unfinished: str | None
    """What the study that tells the power lacks, in a line; None if it lacks nothing."""
    frozen: str | None
    """The frozen plan in a line; None if there is none."""


@dataclass(frozen=True)
class StudyPlanView:
    """What `aiayn plan` shows of a study."""

    costs: Sequence[StudyCosts]
    powers: Sequence[ClaimPower]
    """The power for each claim."""
    budgets: Sequence[Budget]
    """The power of each claim by steps and seeds."""
    evidence: str
    """What power is computed with, in words."""
    few_seeds: Sequence[str]
    """Remarks on claims that no verdict can be given on."""
    unfinished: str
    """What the study that tells the power lacks; may be empty."""
    frozen: str
    """The remark on the frozen plan; may be empty."""

    def print(self) -> None:
        """Print a line for each row, the sums over all runs, and then the power of the study."""
        if output_format() is Format.json:
            print_content(self._content())
            return
        words = {"row": [each.row for each in self.costs], "runs": [str(each.runs) for each in self.costs]}
        named(plans().print_costs)([each.plan for each in self.costs], words, [each.runs for each in self.costs])
        output = console()
        if self.powers:
            print_grid(power_grid(self.powers), output)
            print_grid(budget_grid(self.budgets), output)
        for line in (self.frozen, self.evidence, self.unfinished, *self.few_seeds):
            if line:
                print_text(line, output)

    def _content(self) -> StudyPlanContent:
        every = [each.plan for each in self.costs for _ in range(each.runs)]
        return StudyPlanContent(
            rows=tuple(self.costs),
            total=PlanTotal.of(every),
            remarks=tuple(named(plans().remarks)(every)) if every else (),
            claims=tuple(PlannedClaim(each.claim.id, each.power, each.effects) for each in self.powers),
            few_seeds=tuple(self.few_seeds),
            budgets=tuple(each.content for each in self.budgets),
            unfinished=self.unfinished or None,
            frozen=self.frozen or None,
        )


def frozen_remark(runs: Path, name: str, plan: StudyPlan) -> str:
    """Time, commit and powers of a study's frozen plan, and how the present plan differs; empty if none is frozen."""
    if not files.exists(registration_file(runs, name)):
        return ""
    frozen = read_registration(runs, name)
    powers = ", ".join(f"{claim} {'unknown' if n is None else f'{n:.0%}'}" for claim, n in frozen.powers.items())
    difference = frozen.plan.difference(plan)
    if difference is None:
        now = f"sweeps={name} still states this plan"
    else:
        key, there, here = difference
        now = f"sweeps={name} has changed: {key} is {there} in the frozen plan, and {here} now"
    facts = f"frozen {frozen.time} by {frozen.code.text}, sha256 {frozen.sha256[:HASH_DIGITS]}"
    return f"{facts}, with power {powers}; {now}" if powers else f"{facts}; {now}"
