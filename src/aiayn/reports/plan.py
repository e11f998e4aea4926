"""The expected cost of runs, as a table on the terminal."""

from collections.abc import Sequence

from rich import box
from rich.measure import Measurement
from rich.table import Table

from aiayn.costs.plan import Plan
from aiayn.reports.formats import console
from aiayn.reports.numbers import approximate_time, gibibytes, hours, operations
from aiayn.reports.sweep import differing_overrides

WIDEST = 500

NUMBERS = (
    "params",
    "steps",
    "FLOPs,\na step",
    "FLOPs,\nin all",
    "memory,\nGiB",
    "time",
    "device-\nhours",
    "disk,\nGiB",
)


def print_plan(plans: Sequence[Plan]) -> None:
    """Print a line for each run, their sums, and the assumptions.

    Args:
        plans: at least one.
    """
    # A column that is the same for all runs is left out, so that the table fits 80 columns.
    columns: dict[str, Sequence[str]] = {"experiment": [plan.experiment for plan in plans]}
    columns["seed"] = [str(plan.seed) for plan in plans]
    columns["override"] = differing_overrides([plan.overrides for plan in plans])
    columns = {name: words for name, words in columns.items() if name == "experiment" or len(set(words)) > 1}
    table = Table(box=box.SIMPLE, padding=(0, 0, 0, 1), pad_edge=False, show_footer=len(plans) > 1)
    for heading in columns:
        table.add_column(heading, justify="right" if heading == "seed" else "left", no_wrap=True)
    table.columns[0].footer = f"{len(plans)} runs"
    for heading, total in zip(NUMBERS, _sums(plans), strict=True):
        table.add_column(heading, total, justify="right", no_wrap=True)
    for plan, words in zip(plans, zip(*columns.values(), strict=True), strict=True):
        table.add_row(*words, *_cells(plan))
    output = console()
    widest = Measurement.get(output, output.options.update(max_width=WIDEST), table).maximum
    output.print(table, width=widest)  # a wrapped line is better than a truncated number
    for line in _remarks(plans):
        output.print(line)


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


def _sums(plans: Sequence[Plan]) -> tuple[str, ...]:
    return (
        "",
        "",
        "",
        operations(sum(plan.flops for plan in plans)),
        "",
        approximate_time(sum(plan.seconds for plan in plans)),
        hours(sum(plan.device_seconds for plan in plans)),
        gibibytes(sum(plan.disk for plan in plans)),
    )


def _remarks(plans: Sequence[Plan]) -> list[str]:
    """Assumptions, and costs that are not included."""
    lines = [f"data: {data}" for data in dict.fromkeys(plan.data for plan in plans)]
    lines += dict.fromkeys(_basis(plan) for plan in plans)
    lines.append(
        "time: training alone, one run after the other, without communication between devices, validation and the "
        "final search"
    )
    lines.append(
        "memory: tensors on one device at the peak of a step, without the allocator's reserve; disk: checkpoints"
    )
    beyond = [plan for plan in plans if not plan.fits]
    if beyond:
        lines.append(
            f"! more than the {beyond[0].hardware.memory_gib:g} GiB of one {beyond[0].hardware.name}: lower "
            "optimization.max_tokens_per_device"
        )
    return lines


def _basis(plan: Plan) -> str:
    hardware, count = plan.hardware, f"{plan.devices} x {plan.hardware.name}"
    if hardware.calibration_seconds is not None:
        return f"{count}: measured for {hardware.calibration_seconds:g} s a model"
    assert hardware.utilization is not None
    assert hardware.peak_flops is not None
    stated = f"{hardware.utilization:.0%} of {hardware.peak_flops / 1e12:,.4g} TFLOP/s each"
    return f"{count}: {stated}, as stated in hardware=; hardware=here measures this machine"
