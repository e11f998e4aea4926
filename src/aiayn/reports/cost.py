"""What runs have cost, each and together, and beside them the cost column of Table 2; each definition by its name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.config.freeze import frozen_content
from aiayn.config.report_schema import OnlyComparedConfig, ReportConfig
from aiayn.errors import UserError
from aiayn.paper.table2 import load_table2
from aiayn.reports.code_versions import code_versions, version_remarks
from aiayn.reports.comparison import any_matches
from aiayn.reports.grids import Grid, markdown_page, print_or_write
from aiayn.reports.plan import hours, operations
from aiayn.reports.row import duration
from aiayn.reports.table3_runs import is_chosen
from aiayn.runs.cost import Attempt, RunCost, Total
from aiayn.runs.ledger import Entry, State, read_results
from aiayn.runs.record import Record, json_text

ANALYTIC = "analytic FLOPs"
PADDED = "with pads"
PAPERS = "time x devices x sustained"
"""How the paper makes FLOPs: nothing else may stand in its column."""

DEFINITIONS = {
    "training, validation, evaluation": "wall time over all attempts, time lost to kills included; preparation is not",
    "lost": "training and validation that a kill made vain",
    "device-hours": "training, validation and evaluation, times devices; without GPUs a process is a device",
    ANALYTIC: "forward and backward passes of training: 6 for each weight of a matrix and token that it meets, no pads",
    PADDED: "the same over pads too, which devices may compute in vain",
    PAPERS: "as Table 2 has FLOPs: wall time of training and its validations, times devices, times what each sustains "
    "in single precision",
    "MFU": "analytic FLOPs in a second of training, as a share of the devices' peak in the run's precision",
    "GPU kWh, CPU kWh": "as the drivers count it for whole devices, whoever used them",
}
"""Of the columns."""

BLANK = "blank: not known, in a sum not known of all"


@dataclass(frozen=True)
class CostOfRun:
    """One line."""

    entry: Entry
    record: Record
    account: RunCost

    @property
    def name(self) -> str:
        """As a line begins."""
        return f"{self.record.experiment} {self.record.scale} seed {self.record.seed}"

    @property
    def lost_seconds(self) -> float | None:
        """What was done in vain; None where that is not known."""
        if self.record.cost is None or self.entry.state is not State.finished:
            return None
        return max(0.0, sum(attempt.fitting_seconds for attempt in self.account.attempts) - self.record.seconds)


def report_cost(config: ReportConfig, output: Path | None) -> None:
    """Print what runs have cost, or write it.

    Args:
        config: of the command.
        output: a .md or .json file, or None for the terminal.

    Raises:
        UserError: there are no such runs, or one cannot be read.
    """
    runs = costs_of_runs(Path(config.paths.runs), config.only)
    print_or_write(runs, output, {".md": markdown, ".json": _json}, grids=grids, remarks=remarks)


def costs_of_runs(runs: Path, only: OnlyComparedConfig) -> list[CostOfRun]:
    """The runs below a folder that have begun, finished or not.

    Args:
        runs: the folder.
        only: which of them; `like` is not looked at.

    Raises:
        UserError: there are none such, or a file cannot be read.
    """
    found = []
    for entry in read_results(runs):
        if entry.record is not None and _is_wanted(entry, entry.record, only):
            account = RunCost.kept(entry.directory.cost) or entry.record.account
            if account.attempts:
                found.append(CostOfRun(entry, entry.record, account))
    if not found:
        asked = [f"only.{key}={value}" for key, value in vars(only).items() if value is not None]
        complaint = f"{', '.join(asked)}: no run" if asked else "no run"
        raise UserError(f"{complaint} below {runs} has begun to train; aiayn status lists those that are there")
    return found


def _is_wanted(entry: Entry, record: Record, only: OnlyComparedConfig) -> bool:
    if not is_chosen(record, scale=only.scale, data=only.data):
        return False
    sweep = (frozen_content(entry.directory.config).get("identity") or {}).get("sweep") or ""
    return any_matches([record.experiment], only.experiment) and any_matches(
        [*entry.directory.sweeps, sweep], only.sweep
    )


def total_of(runs: Sequence[CostOfRun]) -> Total:
    """All of them together."""
    return Total.of([attempt for run in runs for attempt in run.account.attempts])


def grids(runs: Sequence[CostOfRun]) -> Iterator[Grid]:
    """Time, energy and money; operations; the paper's own."""
    yield from cost_grids(runs)
    yield _papers(runs, total_of(runs))


def cost_grids(runs: Sequence[CostOfRun]) -> Iterator[Grid]:
    """Time, energy and money; operations."""
    total = total_of(runs)
    together = _counted(runs)
    lost = [run.lost_seconds for run in runs]
    yield Grid(
        "Time, energy and money",
        (
            "<run",
            "<state",
            "attempts",
            "<devices",
            "training",
            "validation",
            "evaluation",
            "lost",
            "device-hours",
            "GPU kWh",
            "CPU kWh",
            "price",
        ),
        (
            tuple(_times(run) for run in runs),
            (
                (
                    together,
                    "",
                    str(sum(len(run.account.attempts) for run in runs)),
                    "",
                    *_spans(total),
                    _span(sum(each or 0.0 for each in lost) if any(lost) else None),
                    *_bill(total),
                ),
            ),
        ),
    )
    yield Grid(
        "Operations",
        ("<run", ANALYTIC, PADDED, PAPERS, "<sustained", "MFU"),
        (
            tuple((run.name, *_operations(run.account.total, _rates(run.account.attempts))) for run in runs),
            ((together, *_operations(total, "")),),
        ),
    )


def _counted(runs: Sequence[CostOfRun]) -> str:
    return "1 run" if len(runs) == 1 else f"{len(runs)} runs"


def _times(run: CostOfRun) -> tuple[str, ...]:
    total, attempts = run.account.total, run.account.attempts
    return (
        run.name,
        run.entry.state.value,
        str(len(attempts)),
        "; ".join(dict.fromkeys(_devices(attempt) for attempt in attempts)),
        *_spans(total),
        _span(run.lost_seconds or None),
        *_bill(total),
    )


def _devices(attempt: Attempt) -> str:
    return ", ".join(f"{devices.count} × {devices.name}" for devices in attempt.devices)


def _spans(total: Total) -> tuple[str, ...]:
    return tuple(map(_span, (total.training_seconds, total.validation_seconds, total.evaluation_seconds)))


def _span(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _bill(total: Total) -> tuple[str, ...]:
    return (
        hours(3600 * total.device_hours),
        *("" if energy is None else f"{energy:.3g}" for energy in (total.gpu_kwh, total.processor_kwh)),
        "" if total.price is None else f"{total.price:,.2f} {total.currency}",
    )


def _operations(total: Total, rates: str) -> tuple[str, ...]:
    return (
        operations(total.flops),
        _count(total.padded_flops),
        _count(total.paper_flops),
        rates,
        "" if total.mfu is None else f"{total.mfu:.1%}",
    )


def _count(flops: float | None) -> str:
    return "" if flops is None else operations(flops)


def _rates(attempts: Sequence[Attempt]) -> str:
    """What is taken for sustained, and where it is from."""
    found = [
        f"{devices.sustained_flops / 1e12:.2g} TFLOP/s {devices.basis}"
        for attempt in attempts
        for devices in attempt.devices
        if devices.sustained_flops is not None
    ]
    return "; ".join(dict.fromkeys(found))


def _papers(runs: Sequence[CostOfRun], total: Total) -> Grid:
    """Table 2's column as printed, by its definition alone; ours by the same."""
    table = load_table2()
    printed = tuple((system.label, str(system.flops_en_de), str(system.flops_en_fr), "") for system in table.rows)
    own = [run for run in runs if run.record.experiment.startswith("table2/")]
    ours = [(run.name, "", "", _count(run.account.total.paper_flops)) for run in own]
    ours.append((f"{_counted(runs)} of this report", "", "", _count(total.paper_flops)))
    heading = f"FLOPs of Table 2: {PAPERS}"
    return Grid(heading, ("<system", "paper EN-DE", "paper EN-FR", "ours"), (printed, tuple(ours)))


def remarks(runs: Sequence[CostOfRun]) -> Iterator[str]:
    """What the columns are, and what is missing."""
    for column, meaning in DEFINITIONS.items():
        yield f"{column}: {meaning}"
    yield "sustained: paper is its footnote 5, stated the maker's peak, measured what products of matrices reached here"
    yield BLANK
    yield from version_remarks(code_versions((run.entry.directory.path, run.record) for run in runs))


def markdown(runs: Sequence[CostOfRun]) -> str:
    """The whole page."""
    written = "Written by `aiayn report cost` from the records of the runs."
    return markdown_page("What runs have cost", written, grids(runs), remarks(runs))


def _json(runs: Sequence[CostOfRun]) -> str:
    table = load_table2()
    content: dict[str, Any] = {
        "runs": [
            {
                "run": str(run.entry.directory.path),
                "experiment": run.record.experiment,
                "scale": run.record.scale,
                "seed": run.record.seed,
                "state": run.entry.state.value,
                "commit": run.record.commit,
                "dirty": run.record.dirty,
                "lost_seconds": run.lost_seconds,
                **run.account.plain(),
            }
            for run in runs
        ],
        "total": total_of(runs).plain(),
        "paper": {
            system.id: {"flops_en_de": system.flops_en_de.value, "flops_en_fr": system.flops_en_fr.value}
            for system in table.rows
        },
        "definitions": DEFINITIONS,
    }
    return json_text(content)
