"""The cost of runs, each and in total, with the cost column of Table 2."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from aiayn.config.report_schema import OnlyComparedConfig, ReportConfig
from aiayn.errors import UserError
from aiayn.paper.tables import load_table2
from aiayn.reports.code_versions import code_versions, version_remarks
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Column, Grid
from aiayn.reports.numbers import counted, duration, hours, operations
from aiayn.reports.reported_runs import ReportedRun, RunProvenance, is_asked_for, readable_runs
from aiayn.runs.cost import Attempt, RunCost, Total
from aiayn.runs.ledger import State, read_results

ANALYTIC = "analytic FLOPs"
PAPERS = "time x devices x sustained"
"""The paper's definition of FLOPs, the only one in its column."""

DEFINITIONS = {
    "training, validation, evaluation": "wall time of all attempts, including work lost to kills, without preparation",
    "lost": "training and validation lost to kills",
    "device-hours": "training, validation and evaluation, times devices; without GPUs a process is a device",
    ANALYTIC: "forward and backward passes of training: 6 per token and matrix weight that processes it",
    PAPERS: "as Table 2 has FLOPs: wall time of training and its validations, times devices, times the sustained rate "
    "of each in single precision",
    "MFU": "analytic FLOPs per second of training, as a share of the devices' peak in the run's precision",
    "GPU kWh, CPU kWh": "of whole devices, by their drivers",
}
"""Of the columns."""


@dataclass(frozen=True)
class CostOfRun(ReportedRun):
    """A run with its account."""

    account: RunCost

    @property
    def name(self) -> str:
        """Experiment, scale and seed."""
        return f"{self.record.experiment} {self.record.scale} seed {self.record.seed}"

    @property
    def lost_seconds(self) -> float | None:
        """Training and validation lost to kills; None if unknown."""
        if self.record.cost is None or self.entry.state is not State.finished:
            return None
        return max(0.0, sum(attempt.fitting_seconds for attempt in self.account.attempts) - self.record.seconds)


@dataclass(frozen=True)
class AccountOfRun(RunProvenance):
    """A run with its account."""

    lost_seconds: float | None
    """Training and validation lost to kills; None if unknown."""
    attempts: tuple[Attempt, ...]
    """The attempts in order; the last one may be under way."""
    total: Total
    """The sum of the attempts."""


@dataclass(frozen=True)
class PrintedCost:
    """Training FLOPs of a system of Table 2."""

    flops_en_de: float | None
    """As printed for English to German; None where blank."""
    flops_en_fr: float | None
    """As printed for English to French; None where blank."""


@dataclass(frozen=True)
class CostContent(Content):
    """The cost of runs: aiayn report cost."""

    schema: ClassVar = "cost/1"

    runs: tuple[AccountOfRun, ...]
    """The runs."""
    total: Total
    """The sum over the runs."""
    paper: Mapping[str, PrintedCost]
    """The cost column of Table 2, by system."""
    definitions: Mapping[str, str]
    """Definitions of the columns."""


def report_cost(config: ReportConfig, output: Path | None) -> None:
    """Print the cost of runs, or write it to a .md or .json file.

    Raises:
        UserError: there are no such runs, or one cannot be read.
    """
    show(document(costs_of_runs(Path(config.paths.runs), config.only)), output)


def costs_of_runs(runs: Path, only: OnlyComparedConfig) -> list[CostOfRun]:
    """The chosen runs below a folder that have begun; `only.like` is ignored.

    Raises:
        UserError: there are no such runs, or a file cannot be read.
    """
    entries = read_results(runs, with_pilots=True, with_warnings=True)
    begun = (ReportedRun(entry, entry.record) for entry in entries if entry.record is not None)
    found = []
    for run in readable_runs(begun):
        account = RunCost.kept(run.entry.directory.cost) or run.record.account
        if account.attempts and is_asked_for(run, only):
            found.append(CostOfRun(run.entry, run.record, account))
    if not found:
        asked = [f"only.{key}={value}" for key, value in vars(only).items() if value is not None]
        complaint = f"{', '.join(asked)}: no run" if asked else "no run"
        raise UserError(f"{complaint} below {runs} has begun to train; aiayn status lists those that are there")
    return found


def total_of(runs: Sequence[CostOfRun]) -> Total:
    """The sum over runs."""
    return Total.of([attempt for run in runs for attempt in run.account.attempts])


def grids(runs: Sequence[CostOfRun]) -> Iterator[Grid]:
    """Time, energy and money; operations; the cost column of Table 2."""
    yield from cost_grids(runs)
    yield _papers(runs, total_of(runs))


def cost_grids(runs: Sequence[CostOfRun]) -> Iterator[Grid]:
    """Time, energy and money; operations."""
    lines, every = [_line(run) for run in runs], total_of(runs)
    lost, attempts = sum(line.lost for line in lines), [each for line in lines for each in line.attempts]
    sums = [_Line(counted(len(runs), "run"), "", attempts, "", "", lost, every)]
    yield Grid.of("Time, energy and money", TIMES, lines, sums)
    yield Grid.of("Operations", OPERATIONS, lines, sums)


class _Line(NamedTuple):
    """A run, or the sum of several."""

    name: str
    state: str
    attempts: Sequence[Attempt]
    devices: str
    rates: str
    lost: float
    """Seconds."""
    total: Total


def _line(run: CostOfRun) -> _Line:
    attempts, total = run.account.attempts, run.account.total
    named = (", ".join(f"{each.count} × {each.name}" for each in attempt.devices) for attempt in attempts)
    devices = "; ".join(dict.fromkeys(named))
    return _Line(run.name, run.entry.state.value, attempts, devices, _rates(attempts), run.lost_seconds or 0.0, total)


def _or_blank(value: float | None, shown: Callable[[float], str]) -> str:
    return "" if value is None else shown(value)


def _three_digits(value: float) -> str:
    return f"{value:.3g}"


TIMES: Sequence[Column[_Line]] = (
    Column("<run", lambda line: line.name),
    Column("<state", lambda line: line.state),
    Column("attempts", lambda line: str(len(line.attempts))),
    Column("<devices", lambda line: line.devices),
    Column("training", lambda line: _or_blank(line.total.training_seconds, duration)),
    Column("validation", lambda line: _or_blank(line.total.validation_seconds, duration)),
    Column("evaluation", lambda line: _or_blank(line.total.evaluation_seconds, duration)),
    Column("lost", lambda line: _or_blank(line.lost or None, duration)),
    Column("device-hours", lambda line: hours(3600 * line.total.device_hours)),
    Column("GPU kWh", lambda line: _or_blank(line.total.gpu_kwh, _three_digits)),
    Column("CPU kWh", lambda line: _or_blank(line.total.processor_kwh, _three_digits)),
    Column("price", lambda line: _or_blank(line.total.price, lambda price: f"{price:,.2f} {line.total.currency}")),
)
OPERATIONS: Sequence[Column[_Line]] = (
    Column("<run", lambda line: line.name),
    Column(ANALYTIC, lambda line: _or_blank(line.total.flops, operations)),
    Column(PAPERS, lambda line: _or_blank(line.total.paper_flops, operations)),
    Column("<sustained", lambda line: line.rates),
    Column("MFU", lambda line: _or_blank(line.total.mfu, lambda share: f"{share:.1%}")),
)


def _rates(attempts: Sequence[Attempt]) -> str:
    """The sustained rates, and their sources."""
    devices = (each for attempt in attempts for each in attempt.devices)
    known = ((each.sustained_flops, each.basis) for each in devices)
    rates = (f"{rate / 1e12:.2g} TFLOP/s {basis}" for rate, basis in known if rate is not None)
    return "; ".join(dict.fromkeys(rates))


def _papers(runs: Sequence[CostOfRun], total: Total) -> Grid:
    """Table 2's column as printed, and ours by its definition."""
    table = load_table2()
    printed = tuple((system.label, str(system.flops_en_de), str(system.flops_en_fr), "") for system in table.rows)
    own = [run for run in runs if run.record.experiment.startswith("table2/")]
    ours = [(run.name, "", "", _or_blank(run.account.total.paper_flops, operations)) for run in own]
    ours.append((f"{counted(len(runs), 'run')} of this report", "", "", _or_blank(total.paper_flops, operations)))
    heading = f"FLOPs of Table 2: {PAPERS}"
    return Grid(heading, ("<system", "paper EN-DE", "paper EN-FR", "ours"), (printed, tuple(ours)))


def remarks(runs: Sequence[CostOfRun]) -> Iterator[str]:
    """Definitions of the columns, and the versions of the code."""
    for column, meaning in DEFINITIONS.items():
        yield f"{column}: {meaning}"
    yield "sustained: paper is its footnote 5, stated the maker's peak, measured the rate of matrix products here"
    yield "blank: unknown; of a sum, unknown for some runs"
    yield from version_remarks(code_versions((run.path, run.record) for run in runs))


def document(runs: Sequence[CostOfRun]) -> Document:
    """The report as plain data."""
    return Document(
        title="Cost of runs",
        written="Written by `aiayn report cost` from the records of the runs.",
        grids=list(grids(runs)),
        remarks=list(remarks(runs)),
        content=CostContent(
            runs=tuple(
                AccountOfRun(**vars(run.provenance), lost_seconds=run.lost_seconds, **vars(run.account)) for run in runs
            ),
            total=total_of(runs),
            paper={
                system.id: PrintedCost(system.flops_en_de.value, system.flops_en_fr.value)
                for system in load_table2().rows
            },
            definitions=DEFINITIONS,
        ),
    )
