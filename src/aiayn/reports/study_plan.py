"""The plan of a pre-registered study on the terminal: its cost and detectable effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.costs.plan import Plan
from aiayn.reports.formats import console, print_grid, print_json, print_text
from aiayn.reports.numbers import counted
from aiayn.reports.plan import plain_totals, print_costs
from aiayn.reports.power import ClaimPower, Pilots, power_grid
from aiayn.runs.registrations import HASH_DIGITS, StudyPlan, read_registration, registration_file
from aiayn.system.output_format import Format, output_format


@dataclass(frozen=True)
class StudyCosts:
    """The costs of a row of a pre-registered study."""

    row: str
    plan: Plan
    """The cost of one run."""
    runs: int
    pilots: int


def print_study_plan(
    costs: Sequence[StudyCosts],
    seeds: Mapping[str, int],
    powers: Sequence[ClaimPower],
    pilots: Pilots,
    *,
    command: str,
    frozen: str,
) -> None:
    """Print a line for each row, the sums over all runs, and then the effects that the study can detect.

    Args:
        costs: the costs of the rows that can be planned.
        seeds: the planned number of seeds of each row.
        powers: the power for each claim.
        pilots: the pilots that power is computed with.
        command: the command line that runs the pilots.
        frozen: the remark on the frozen plan; empty if there is none.
    """
    if output_format() is Format.json:
        print_json("study-plan/1", _content(costs, seeds, powers, pilots, command=command, frozen=frozen))
        return
    if costs:
        words = {"row": [each.row for each in costs], "runs": [str(each.runs) for each in costs]}
        if any(each.pilots for each in costs):
            words["pilots"] = [str(each.pilots) for each in costs]
        print_costs([each.plan for each in costs], words, [each.runs + each.pilots for each in costs])
    output = console()
    print_grid(power_grid(powers), output)
    if frozen:
        print_text(frozen, output)
    claims = [each.claim for each in powers]
    for line in (pilots.in_words(), *pilots.failed_gates(claims), *pilots.uncertain_gates(claims, seeds)):
        print_text(line, output)
    if pilots.unfinished:
        output.print(f"{counted(len(pilots.unfinished), 'pilot')} not finished: {command}", soft_wrap=True)


def _content(
    costs: Sequence[StudyCosts],
    seeds: Mapping[str, int],
    powers: Sequence[ClaimPower],
    pilots: Pilots,
    *,
    command: str,
    frozen: str,
) -> dict[str, Any]:
    """For JSON."""
    claims = [each.claim for each in powers]
    every = [each.plan for each in costs for _ in range(each.runs + each.pilots)]
    return {
        "rows": [
            {"row": each.row, "runs": each.runs, "pilots": each.pilots, "plan": each.plan.plain()} for each in costs
        ],
        **plain_totals(every),
        "claims": [
            {"claim": each.claim.id, "power": each.power, "detectable": each.factor, "seeds_needed": each.seeds}
            for each in powers
        ],
        "pilots": {
            "finished": {row: list(names) for row, names in pilots.finished.items()},
            "unfinished": list(pilots.unfinished),
            "failed_gates": list(pilots.failed_gates(claims)),
            "uncertain_gates": list(pilots.uncertain_gates(claims, seeds)),
            "command": command if pilots.unfinished else None,
        },
        "frozen": frozen or None,
    }


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
