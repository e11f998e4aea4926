"""Table 1, measured: operations, sequential operations and path lengths of the four layer types, and their time."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from aiayn.config.report_schema import ReportConfig
from aiayn.extensions.layers.growth import fit_exponents
from aiayn.extensions.layers.layer_costs import operations, path_length, seconds, sequential_operations
from aiayn.extensions.layers.layer_types import (
    BareConvolution,
    BareRecurrence,
    BareRestrictedAttention,
    BareSelfAttention,
    LayerType,
)
from aiayn.paper.order import Order
from aiayn.paper.tables import Layer, load_table1
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid
from aiayn.runs.hardware import hardware
from aiayn.runs.provenance import versions

Sizes = Mapping[str, int]
"""The sizes of a layer: n, d, and k or r if the layer has one."""

LENGTHS, WIDTHS = (27, 81, 243), (16, 32, 64)

GRIDS: Mapping[str, Sequence[Sizes]] = {
    "self_attention": [{"n": n, "d": d} for n in LENGTHS for d in WIDTHS],
    "recurrent": [{"n": n, "d": d} for n in LENGTHS for d in WIDTHS],
    # Lengths are powers of both kernel sizes, so that a stack has whole layers.
    "convolutional": [
        {"n": n, "d": d, "k": k}
        for k, lengths in ((3, (9, 81, 729)), (9, (9, 81, 729)))
        for n in lengths
        for d in WIDTHS
    ],
    # Lengths are many blocks, since the ends of a sequence have shorter neighbourhoods.
    "self_attention_restricted": [{"n": n, "d": d, "r": r} for n in (64, 128, 256) for d in WIDTHS for r in (4, 8, 16)],
}
"""The sizes at which each layer type is measured."""

TIMED_WIDTHS, TIMED_LENGTHS = (64, 256), (16, 32, 64, 128, 256, 512, 1024)

TIMED_SEQUENCES = 32
"""Timed together, as in training."""

KERNEL_SIZE, NEIGHBOURHOOD = 3, 32
"""Of the layers that are timed."""

QUANTITIES: Mapping[str, Callable[..., int]] = {
    "complexity": operations,
    "sequential_operations": sequential_operations,
    "maximum_path_length": path_length,
}
"""By column."""


@dataclass(frozen=True)
class Exponent:
    """The exponent of a size, or of the logarithm of one."""

    paper: int
    """The paper's exponent."""
    estimate: float
    """The measured exponent."""
    low: float
    """The lower end of its 95% interval."""
    high: float
    """The upper end of its 95% interval."""


@dataclass(frozen=True)
class Growth:
    """One cell: the measured growth of a quantity."""

    paper: str
    """The paper's order."""
    exponents: Mapping[str, Exponent]
    """The exponents of each size, or of the logarithm, by its name."""

    @property
    def largest_error(self) -> float:
        """The largest distance of an exponent from the paper's."""
        return max(abs(each.estimate - each.paper) for each in self.exponents.values())

    def __str__(self) -> str:
        return " · ".join(f"{name}^{_rounded(each)}" for name, each in self.exponents.items())


@dataclass(frozen=True)
class MeasuredTable1:
    """All measurements."""

    growths: Mapping[str, Mapping[str, Growth]]
    """By layer type and column."""
    times: Mapping[str, Mapping[tuple[int, int], float]]
    """Seconds by layer type, n and d."""
    crossovers: Mapping[int, float | None]
    """By d, the n from which self-attention is slower than recurrence; None if there is none in `TIMED_LENGTHS`."""
    device: str


@dataclass(frozen=True)
class LayerTime:
    """The time of a layer."""

    layer: str
    """The layer type."""
    n: int
    """The length of the sequences."""
    d: int
    """The width of the layer."""
    seconds: float
    """The wall time of a forward pass."""


@dataclass(frozen=True)
class Crossover:
    """The length at which self-attention and recurrence take the same time."""

    d: int
    """The width of the layers."""
    n: float | None
    """The length from which self-attention is slower than recurrence; None if there is none."""


@dataclass(frozen=True)
class Table1Content(Content):
    """Table 1, measured: aiayn report table1."""

    schema: ClassVar = "table1/1"

    growth: Mapping[str, Mapping[str, Growth]]
    """The growth of each quantity, by layer type and column."""
    seconds: tuple[LayerTime, ...]
    """The times of the layers."""
    crossovers: tuple[Crossover, ...]
    """The lengths at which self-attention becomes slower, by width."""
    device: str
    """The device on which times were measured."""
    versions: Mapping[str, str]
    """The versions of packages, by name."""


def report_table1(config: ReportConfig, output: Path | None) -> None:
    """Measure the table, and print it or write it to a .md or .json file; the seed is that of weights and inputs."""
    show(document(measure_table1(seed=config.seed)), output)


def measure_table1(*, seed: int) -> MeasuredTable1:
    """Count and time all four layer types."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        growths = {row.id: {column: measure_growth(row, column) for column in QUANTITIES} for row in load_table1().rows}
        times = {row.id: dict(_times(row.id, device)) for row in load_table1().rows}
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else str(hardware()["processor"])
    crossovers = {d: _crossover(times, d) for d in TIMED_WIDTHS}
    return MeasuredTable1(growths, times, crossovers, f"{name}, threads: {torch.get_num_threads()}")


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
    order = row.cell(column).order
    assert order is not None
    points, values = [], []
    for sizes in GRIDS[row.id]:
        layer = build_layer(row.id, sizes)
        if column == "maximum_path_length":
            layer.double()  # gradients through hundreds of rounds become small
        points.append(_factors(order, sizes))
        values.append(QUANTITIES[column](layer, n=sizes["n"], d=sizes["d"]))
    return Growth(
        str(order),
        {
            name: Exponent(int(name == str(order.logarithm)) or order.powers.get(name, 0), **vars(fitted))
            for name, fitted in fit_exponents(points, values).items()
        },
    )


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


def _crossover(times: Mapping[str, Mapping[tuple[int, int], float]], d: int) -> float | None:
    """The n from which self-attention is slower, interpolated linearly in logarithms; None if there is none."""
    ratios = [times["self_attention"][n, d] / times["recurrent"][n, d] for n in TIMED_LENGTHS]
    for place in reversed(range(1, len(ratios))):
        if ratios[place - 1] < 1 <= ratios[place]:
            low, high = (math.log(ratio) for ratio in ratios[place - 1 : place + 1])
            share = -low / (high - low)
            first, second = TIMED_LENGTHS[place - 1 : place + 1]
            return float(first * (second / first) ** share)
    return None


def _rounded(exponent: Exponent) -> str:
    width = (exponent.high - exponent.low) / 2
    return f"{round(exponent.estimate, 2) + 0.0:.2f}" + (f"±{width:.2f}" if width >= 0.005 else "")


def _grids(table: MeasuredTable1) -> Iterator[Grid]:
    paper = load_table1()
    lines = []
    for row in paper.rows:
        growths = [table.growths[row.id][column.id] for column in paper.columns]
        lines.append((row.label, *(part for growth in growths for part in (growth.paper, str(growth)))))
    yield Grid(
        f"Table 1. {paper.caption.title} ({paper.caption.source}), and measured",
        ("<layer type", *(f"<{part}" for column in paper.columns for part in (column.heading, "measured"))),
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
    for d, n in table.crossovers.items():
        if n is None:
            longest = TIMED_LENGTHS[-1]
            is_faster = table.times["self_attention"][longest, d] < table.times["recurrent"][longest, d]
            yield f"d = {d}: no crossover; at n = {longest} self-attention is {'faster' if is_faster else 'slower'}."
        else:
            yield f"d = {d}: self-attention becomes slower than the recurrent layer at n = {n:.0f}, {n / d:.1f} d."


def document(table: MeasuredTable1) -> Document:
    """The report as plain data."""
    made_with = ", ".join(f"{name} {version}" for name, version in versions().items() if name in ("python", "torch"))
    return Document(
        title="Table 1, measured",
        written="Written by `aiayn report table1`.",
        grids=list(_grids(table)),
        remarks=[*_remarks(table), f"Made with {made_with}."],
        content=Table1Content(
            growth=table.growths,
            seconds=tuple(
                LayerTime(row_id, n, d, value)
                for row_id, times in table.times.items()
                for (n, d), value in times.items()
            ),
            crossovers=tuple(Crossover(d, n) for d, n in table.crossovers.items()),
            device=table.device,
            versions=versions(),
        ),
    )
