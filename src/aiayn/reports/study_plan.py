"""The plan of a pre-registered study on the terminal: its cost and detectable effects."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aiayn.costs.plan import Plan
from aiayn.reports.formats import console, rich_table
from aiayn.reports.numbers import counted
from aiayn.reports.plan import print_costs
from aiayn.reports.power import ClaimPower, Pilots, power_grid
from aiayn.runs.registrations import HASH_DIGITS, StudyPlan, read_registration, registration_file


@dataclass(frozen=True)
class StudyCosts:
    """The costs of a row of a pre-registered study."""

    row: str
    plan: Plan
    """The cost of one run."""
    runs: int
    pilots: int


def print_study_plan(
    costs: Sequence[StudyCosts], powers: Sequence[ClaimPower], pilots: Pilots, *, command: str, frozen: str
) -> None:
    """Print a line for each row, the sums over all runs, and then the effects that the study can detect.

    Args:
        costs: the costs of the rows that can be planned.
        powers: the power for each claim.
        pilots: the pilots that power is computed with.
        command: the command line that runs the pilots.
        frozen: the remark on the frozen plan; empty if there is none.
    """
    if costs:
        words = {"row": [each.row for each in costs], "runs": [str(each.runs) for each in costs]}
        if any(each.pilots for each in costs):
            words["pilots"] = [str(each.pilots) for each in costs]
        print_costs([each.plan for each in costs], words, [each.runs + each.pilots for each in costs])
    output = console()
    output.print(rich_table(power_grid(powers)))
    if frozen:
        output.print(frozen, soft_wrap=True)
    for line in (pilots.in_words(), *pilots.failed_gates([each.claim for each in powers])):
        output.print(line, soft_wrap=True)
    if pilots.unfinished:
        output.print(f"{counted(len(pilots.unfinished), 'pilot')} not finished: {command}", soft_wrap=True)


def frozen_remark(runs: Path, name: str, plan: StudyPlan) -> str:
    """Time, commit and powers of a study's frozen plan, and how the present plan differs; empty if none is frozen."""
    if not registration_file(runs, name).exists():
        return ""
    frozen = read_registration(runs, name)
    powers = ", ".join(f"{claim} {'unknown' if n is None else f'{n:.0%}'}" for claim, n in frozen.powers.items())
    difference = frozen.plan.difference(plan)
    if difference is None:
        now = f"sweeps={name} still states this plan"
    else:
        key, there, here = difference
        now = f"sweeps={name} has changed: {key} is {there} in the frozen plan, and {here} now"
    code, sha256 = frozen.code.text, frozen.sha256[:HASH_DIGITS]
    return f"frozen {frozen.time} by {code}, sha256 {sha256}, with power {powers}; {now}"
