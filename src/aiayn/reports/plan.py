"""What runs would cost, as a table."""

from collections.abc import Sequence

from rich import box
from rich.measure import Measurement
from rich.table import Table

from aiayn.costs.plan import Plan
from aiayn.reports.grids import console
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
    """Print a line for each run, their sums, and what the numbers rest on.

    Args:
        plans: at least one.
    """
    # What is the same for all is not repeated: the table is to fit a terminal of 80 columns.
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
    output.print(table, width=widest)  # a line that the terminal breaks is better than a number cut short
    for line in _remarks(plans):
        output.print(line)


def _cells(plan: Plan) -> tuple[str, ...]:
    return (
        f"{plan.parameters / 1e6:.3g}M",
        f"{plan.steps // 1000:,}K" if plan.steps % 1000 == 0 else f"{plan.steps:,}",
        operations(plan.flops_per_step),
        operations(plan.flops),
        gibibytes(plan.memory) + ("" if plan.fits else "!"),
        about(plan.seconds),
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
        about(sum(plan.seconds for plan in plans)),
        hours(sum(plan.device_seconds for plan in plans)),
        gibibytes(sum(plan.disk for plan in plans)),
    )


def _remarks(plans: Sequence[Plan]) -> list[str]:
    """What is assumed, and what is left out."""
    lines = [f"data: {data}" for data in dict.fromkeys(plan.data for plan in plans)]
    lines += dict.fromkeys(_basis(plan) for plan in plans)
    lines.append(
        "time: training alone, one run after the other, without what devices send each other, validation and the final "
        "search"
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


def operations(count: float) -> str:
    """With two digits, as in 9.4e17."""
    return f"{count:.1e}".replace("e+", "e")


def gibibytes(count: int) -> str:
    """Bytes in GiB with two digits, as in 3.2 or 0.07."""
    amount = count / 2**30
    return f"{amount:.1f}" if amount >= 1 else f"{amount:.2f}"


def about(seconds: float) -> str:
    """A time that is not known to the second, as in 4.2 d, 9.9 h, 12 min, 5 s."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= (2 if unit == "d" else 1) * length:
            return f"{seconds / length:.2g} {unit}" if seconds < 100 * length else f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"


def hours(seconds: float) -> str:
    """With two digits where there are few, as in 0.25 or 1,250."""
    amount = seconds / 3600
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.1f}" if amount >= 1 else f"{amount:.2f}"
