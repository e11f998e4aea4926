"""Table 1, measured: operations, sequential operations and path lengths of the four layer types, and their time."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from aiayn.evaluation.growth import Exponent, fit_exponents
from aiayn.models.table1.layer_costs import operations, path_length, seconds, sequential_operations
from aiayn.models.table1.layer_types import (
    BareConvolution,
    BareRecurrence,
    BareRestrictedAttention,
    BareSelfAttention,
    LayerType,
)
from aiayn.paper.order import Order
from aiayn.paper.table1 import Layer, load_table1
from aiayn.reports.formats import Document, Grid, show
from aiayn.runs.provenance import hardware, versions

Sizes = Mapping[str, int]
"""The sizes of a layer: n, d, and k or r if the layer has one."""

LENGTHS, WIDTHS = (27, 81, 243), (16, 32, 64)

GRIDS: Mapping[str, Sequence[Sizes]] = {
    "self_attention": [{"n": n, "d": d} for n in LENGTHS for d in WIDTHS],
    "recurrent": [{"n": n, "d": d} for n in LENGTHS for d in WIDTHS],
    # Lengths that are powers of both kernel sizes: a stack has whole layers.
    "convolutional": [
        {"n": n, "d": d, "k": k}
        for k, lengths in ((3, (9, 81, 729)), (9, (9, 81, 729)))
        for n in lengths
        for d in WIDTHS
    ],
    # Many whole blocks: the ends of a sequence have shorter neighbourhoods.
    "self_attention_restricted": [{"n": n, "d": d, "r": r} for n in (64, 128, 256) for d in WIDTHS for r in (4, 8, 16)],
}
"""The sizes at which each layer type is measured."""

TIMED_WIDTHS, TIMED_LENGTHS = (64, 256), (16, 32, 64, 128, 256, 512, 1024)

TIMED_SEQUENCES = 32
"""Timed together, as in training: a recurrent step of one sequence would leave a device idle."""

KERNEL_SIZE, NEIGHBOURHOOD = 3, 32
"""Of the layers that are timed."""

QUANTITIES: Mapping[str, Callable[..., int]] = {
    "complexity": operations,
    "sequential_operations": sequential_operations,
    "maximum_path_length": path_length,
}
"""The measurement of each column."""


@dataclass(frozen=True)
class Growth:
    """One cell: the measured growth of a quantity."""

    order: Order
    """The paper's."""
    exponents: Mapping[str, Exponent]
    """Of each size, or of the logarithm, by its name."""

    def expected(self, name: str) -> int:
        """The paper's exponent of a size, or of the logarithm."""
        return int(name == str(self.order.logarithm)) or self.order.powers.get(name, 0)

    @property
    def largest_error(self) -> float:
        """The largest distance of an exponent from the paper's."""
        return max(abs(each.estimate - self.expected(name)) for name, each in self.exponents.items())

    def __str__(self) -> str:
        return " · ".join(f"{name}^{_rounded(each)}" for name, each in self.exponents.items())


@dataclass(frozen=True)
class Crossover:
    """The length at which self-attention becomes slower than a recurrent layer."""

    d: int
    n: float | None
    """None if there is none within `TIMED_LENGTHS`."""


@dataclass(frozen=True)
class MeasuredTable1:
    """All measurements."""

    growths: Mapping[str, Mapping[str, Growth]]
    """By layer type and column."""
    times: Mapping[str, Mapping[tuple[int, int], float]]
    """Seconds by layer type, n and d."""
    crossovers: Sequence[Crossover]
    device: str


def report_table1(output: Path | None, *, seed: int) -> None:
    """Measure the table, and print it or write it to a .md or .json file.

    Args:
        output: the file, or None for the terminal.
        seed: of weights and inputs.
    """
    show(document(measure_table1(seed=seed)), output)


def measure_table1(*, seed: int) -> MeasuredTable1:
    """Count and time all four layer types; seconds on a CPU.

    Args:
        seed: of weights and inputs; counts do not depend on it.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        growths = {row.id: {column: measure_growth(row, column) for column in QUANTITIES} for row in load_table1().rows}
        times = {row.id: dict(_times(row.id, device)) for row in load_table1().rows}
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else str(hardware()["processor"])
    crossovers = [_crossover(times, d) for d in TIMED_WIDTHS]
    threads = torch.get_num_threads()
    place = f"{name}, {threads} {'thread' if threads == 1 else 'threads'}"
    return MeasuredTable1(growths, times, crossovers, place)


def build_layer(row_id: str, sizes: Sizes) -> LayerType:
    """The layer of a row of the table."""
    if row_id == "self_attention":
        return BareSelfAttention()
    if row_id == "recurrent":
        return BareRecurrence(sizes["d"])
    if row_id == "convolutional":
        return BareConvolution(sizes["d"], kernel_size=sizes["k"])
    return BareRestrictedAttention(neighbourhood=sizes["r"])


def measure_growth(row: Layer, column: str) -> Growth:
    """Measure at every point of `GRIDS` and fit the exponents of one cell."""
    order: Order = getattr(row, column).order
    points, values = [], []
    for sizes in GRIDS[row.id]:
        layer = build_layer(row.id, sizes)
        if column == "maximum_path_length":
            layer.double()  # a gradient through hundreds of rounds becomes small
        points.append(_factors(order, sizes))
        values.append(QUANTITIES[column](layer, n=sizes["n"], d=sizes["d"]))
    return Growth(order, fit_exponents(points, values))


def _factors(order: Order, sizes: Sizes) -> dict[str, float]:
    """The sizes that a quantity may grow with; the order's logarithm replaces those that it is made of."""
    if order.logarithm is None:
        return dict(sizes)
    base, of = order.logarithm.base, order.logarithm.of
    others = {name: float(size) for name, size in sizes.items() if name not in (base, of)}
    return {str(order.logarithm): math.log(sizes[of]) / math.log(sizes[base]), **others}


def _times(row_id: str, device: torch.device) -> Iterator[tuple[tuple[int, int], float]]:
    for d in TIMED_WIDTHS:
        layer = build_layer(row_id, {"d": d, "k": KERNEL_SIZE, "r": NEIGHBOURHOOD})
        layer.to(device)
        timed: Callable[[Tensor], object] = layer.kernel if isinstance(layer, BareRecurrence) else layer
        for n in TIMED_LENGTHS:
            yield (n, d), seconds(timed, batch=TIMED_SEQUENCES, n=n, d=d, device=device)


def _crossover(times: Mapping[str, Mapping[tuple[int, int], float]], d: int) -> Crossover:
    """Interpolated between the last length where self-attention is faster and the next, linearly in logarithms."""
    ratios = [times["self_attention"][n, d] / times["recurrent"][n, d] for n in TIMED_LENGTHS]
    for place in reversed(range(1, len(ratios))):
        if ratios[place - 1] < 1 <= ratios[place]:
            low, high = (math.log(ratio) for ratio in ratios[place - 1 : place + 1])
            share = -low / (high - low)
            first, second = TIMED_LENGTHS[place - 1 : place + 1]
            return Crossover(d, first * (second / first) ** share)
    return Crossover(d, None)


def _rounded(exponent: Exponent) -> str:
    width = (exponent.high - exponent.low) / 2
    return f"{round(exponent.estimate, 2) + 0.0:.2f}" + (f"±{width:.2f}" if width >= 0.005 else "")


def _grids(table: MeasuredTable1) -> Iterator[Grid]:
    paper = load_table1()
    columns = [column for column in paper.columns if column.id in QUANTITIES]
    lines = []
    for row in paper.rows:
        growths = [table.growths[row.id][column.id] for column in columns]
        lines.append((row.label, *(part for growth in growths for part in (str(growth.order), str(growth)))))
    yield Grid(
        f"Table 1. {paper.caption.title} ({paper.caption.source}), and measured",
        ("<layer type", *(f"<{part}" for column in columns for part in (column.heading, "measured"))),
        (tuple(lines),),
    )
    yield Grid(
        f"Milliseconds for {TIMED_SEQUENCES} sequences, forward ({table.device})",
        ("d", "n", *(row.label for row in paper.rows)),
        tuple(
            tuple(
                (str(d), str(n), *(f"{table.times[row.id][n, d] * 1e3:,.2f}" for row in paper.rows))
                for n in TIMED_LENGTHS
            )
            for d in TIMED_WIDTHS
        ),
    )


def _remarks(table: MeasuredTable1) -> Iterator[str]:
    worst = max(growth.largest_error for row in table.growths.values() for growth in row.values())
    yield f"The fitted exponents are within {worst:.2f} of the paper's. ± is half of a 95% interval; none: below 0.005."
    yield (
        "Operations are those of matrix products, counted by torch as they run; sequential operations are the longest "
        "chain of dependent products; the path length is the number of rounds until the gradient of the last "
        "position reaches the first. Layers are bare, as the paper counts them: no projections, no heads."
    )
    yield (
        f"Times: kernel size {KERNEL_SIZE}, neighbourhood {NEIGHBOURHOOD}, the recurrent layer by torch's own kernel. "
        "By operations, self-attention (4 n^2 d) and recurrence (4 n d^2) meet at n = d."
    )
    for crossover in table.crossovers:
        if crossover.n is None:
            faster = "faster than the recurrent layer up to" if _is_faster(table, crossover.d) else "slower already at"
            n = TIMED_LENGTHS[-1] if _is_faster(table, crossover.d) else TIMED_LENGTHS[0]
            yield f"d = {crossover.d}: self-attention is {faster} n = {n}."
        else:
            ratio = crossover.n / crossover.d
            yield (
                f"d = {crossover.d}: self-attention becomes slower than the recurrent layer at n = {crossover.n:.0f}, "
                f"{ratio:.1f} d."
            )


def _is_faster(table: MeasuredTable1, d: int) -> bool:
    n = TIMED_LENGTHS[-1]
    return table.times["self_attention"][n, d] < table.times["recurrent"][n, d]


def document(table: MeasuredTable1) -> Document:
    """The report as plain data."""
    made_with = ", ".join(f"{name} {version}" for name, version in versions().items() if name in ("python", "torch"))
    return Document(
        title="Table 1, measured",
        written="Written by `aiayn report table1`.",
        grids=list(_grids(table)),
        remarks=[*_remarks(table), f"Made with {made_with}."],
        content={
            "growth": {
                row_id: {
                    column: {
                        "paper": str(growth.order),
                        "exponents": {
                            name: {"paper": growth.expected(name), **vars(exponent)}
                            for name, exponent in growth.exponents.items()
                        },
                    }
                    for column, growth in cells.items()
                }
                for row_id, cells in table.growths.items()
            },
            "seconds": [
                {"layer": row_id, "n": n, "d": d, "seconds": value}
                for row_id, times in table.times.items()
                for (n, d), value in times.items()
            ],
            "crossovers": [vars(crossover) for crossover in table.crossovers],
            "device": table.device,
            "versions": versions(),
        },
    )
