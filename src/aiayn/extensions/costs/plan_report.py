"""The expected cost of runs, as a table on the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from aiayn.errors import UserError
from aiayn.reports.content import Content
from aiayn.reports.formats import console, print_content, print_grid
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import approximate_time, counted, gibibytes, hours, operations
from aiayn.reports.sweep import differing_overrides
from aiayn.runs.plan import Plan, PlanTotal
from aiayn.system.output_format import Format, output_format


@dataclass(frozen=True)
class PlanContent(Content):
    """What runs will cost: aiayn plan."""

    schema: ClassVar = "plan/1"

    runs: tuple[Plan, ...]
    """The runs."""
    total: PlanTotal
    """The sums."""
    remarks: tuple[str, ...]
    """Assumptions, and costs that are not included."""


def print_plans(results: Sequence[Any], failed: int, jobs: int) -> None:
    """Print the plans of all jobs, which may have come from other processes.

    Raises:
        UserError: some jobs cannot be planned; each has printed why.
    """
    if results:
        print_plan([each if isinstance(each, Plan) else Plan.read(each) for each in results])
    if failed:
        raise UserError(f"{failed} of {jobs} jobs cannot be planned")


def print_plan(plans: Sequence[Plan]) -> None:
    """Print a line for each run, their sums, and the assumptions; `plans` has at least one."""
    if output_format() is Format.json:
        print_content(PlanContent(tuple(plans), PlanTotal.of(plans), tuple(remarks(plans))))
        return
    # Columns that are the same for all runs are left out.
    words: dict[str, Sequence[str]] = {"experiment": [plan.experiment for plan in plans]}
    others = {"seed": [str(plan.seed) for plan in plans], "override": differing_overrides([p.overrides for p in plans])}
    words |= {name: values for name, values in others.items() if len({*values}) > 1}
    print_costs(plans, words, [1] * len(plans))


def print_costs(plans: Sequence[Plan], words: Mapping[str, Sequence[str]], counts: Sequence[int]) -> None:
    """Print a line for each plan, its words first; sums count each plan as often as `counts` says."""
    every = [plan for plan, count in zip(plans, counts, strict=True) for _ in range(count)]
    totals = _totals(every)
    names = (("" if _are_numbers(values) else "<") + heading for heading, values in words.items())
    lines = tuple((*cells, *_cells(plan)) for plan, cells in zip(plans, zip(*words.values(), strict=True), strict=True))
    sums = (counted(len(every), "run"), *[""] * (len(words) - 1), *totals.values())
    output = console()
    print_grid(Grid("", (*names, *totals), (lines, (sums,)) if len(every) > 1 else (lines,)), output)
    for line in remarks(plans):
        output.print(line)


def _are_numbers(values: Sequence[str]) -> bool:
    return all(value.isdecimal() for value in values)


def _cells(plan: Plan) -> tuple[str, ...]:
    return (
        f"{plan.parameters / 1e6:.3g}M",
        f"{plan.steps // 1000:,}K" if plan.steps % 1000 == 0 else f"{plan.steps:,}",
        operations(plan.flops_per_step),
        operations(plan.flops),
        gibibytes(plan.memory) + ("" if plan.fits else "!"),
        approximate_time(plan.seconds),
        hours(plan.device_seconds),
        gibibytes(plan.disk),
    )


def _totals(plans: Sequence[Plan]) -> dict[str, str]:
    """The headings of the columns with their sums."""
    return {
        "params": "",
        "steps": "",
        "FLOPs a step": "",
        "FLOPs in all": operations(sum(plan.flops for plan in plans)),
        "memory, GiB": "",
        "time": approximate_time(sum(plan.seconds for plan in plans)),
        "device-hours": hours(sum(plan.device_seconds for plan in plans)),
        "disk, GiB": gibibytes(sum(plan.disk for plan in plans)),
    }


def remarks(plans: Sequence[Plan]) -> Iterator[str]:
    """Assumptions, and costs that are not included."""
    yield from dict.fromkeys(f"data: {plan.data}" for plan in plans)
    yield from dict.fromkeys(map(_basis, plans))
    yield "time: training alone, one run after the other, without communication, validation and the final search"
    yield "memory: tensors on one device at the peak of a step, without the allocator's reserve; disk: checkpoints"
    if any(plan.has_patience for plan in plans):
        yield "steps: with optimization.patience, the largest number; training may end earlier and cost less"
    beyond = next((plan for plan in plans if not plan.fits), None)
    if beyond is not None:
        limit = f"{beyond.hardware.memory_gib:g} GiB of one {beyond.hardware.name}"
        yield f"! more than the {limit}: lower optimization.max_tokens_per_device"


def _basis(plan: Plan) -> str:
    hardware, count = plan.hardware, f"{plan.devices} x {plan.hardware.name}"
    if hardware.calibration_seconds is not None:
        return f"{count}: measured for {hardware.calibration_seconds:g} s a model"
    assert hardware.utilization is not None
    assert hardware.peak_flops is not None
    stated = f"{hardware.utilization:.0%} of {hardware.peak_flops / 1e12:,.4g} TFLOP/s each"
    return f"{count}: {stated}, as stated in hardware=; hardware=here measures this machine"
