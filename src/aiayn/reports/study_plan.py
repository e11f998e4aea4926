"""The plan of a pre-registered study on the terminal: its cost, and what it can detect."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiayn.costs.plan import Plan
from aiayn.reports.formats import console, rich_table
from aiayn.reports.numbers import counted
from aiayn.reports.plan import print_costs
from aiayn.reports.power import ClaimPower, Pilots, power_grid


@dataclass(frozen=True)
class StudyCosts:
    """The costs of a row of a pre-registered study."""

    row: str
    plan: Plan
    """Of one run."""
    runs: int
    pilots: int


def print_study_plan(costs: Sequence[StudyCosts], powers: Sequence[ClaimPower], pilots: Pilots, command: str) -> None:
    """Print a line for each row, the sums over all runs, and below what the study can detect.

    Args:
        costs: of the rows that can be planned.
        powers: of the claims.
        pilots: those that power is computed with.
        command: runs the pilots.
    """
    if costs:
        words = {"row": [each.row for each in costs], "runs": [str(each.runs) for each in costs]}
        if any(each.pilots for each in costs):
            words["pilots"] = [str(each.pilots) for each in costs]
        print_costs([each.plan for each in costs], words, [each.runs + each.pilots for each in costs])
    output = console()
    output.print(rich_table(power_grid(powers)))
    for line in (pilots.in_words(), *pilots.failed_gates([each.claim for each in powers])):
        output.print(line, soft_wrap=True)
    if pilots.unfinished:
        output.print(f"{counted(len(pilots.unfinished), 'pilot')} not finished: {command}", soft_wrap=True)
