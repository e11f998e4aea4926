"""The comparison of runs on the terminal and as a file: Markdown, JSON."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aiayn.config.report_schema import ReportConfig
from aiayn.reports.code_versions import version_remarks
from aiayn.reports.comparison import EXPERIMENT, Comparison, System, compare
from aiayn.reports.grids import Grid, markdown_page, markdown_runs, print_or_write
from aiayn.reports.tables.table3_formats import check_resampling
from aiayn.reports.tables.table3_grids import interval_text
from aiayn.runs.record import json_text

UNHEARD = " *"
"""Marks lengths that no training had."""


def report_comparison(config: ReportConfig, output: Path | None) -> None:
    """Print the comparison, or write it.

    Args:
        config: of the command.
        output: a .md or .json file, or None for the terminal.

    Raises:
        UserError: the runs do not compare.
    """
    comparison = compared(config)
    print_or_write(comparison, output, {".md": markdown, ".json": json_page}, grids=grids, remarks=_remarks)


def compared(config: ReportConfig, *, kind: str | None = None) -> Comparison:
    """The runs that a report is asked to set side by side.

    Args:
        config: of the command.
        kind: of their models alone; None: of any.

    Raises:
        UserError: there are none, or they do not compare.
    """
    check_resampling(config)
    return compare(
        Path(config.paths.runs),
        sweep=config.only.sweep,
        experiment=config.only.experiment,
        scale=config.only.scale,
        data=config.only.data,
        kind=kind,
        against=config.against,
        resamples=config.resamples,
        seed=config.seed,
    )


def grids(comparison: Comparison) -> Iterator[Grid]:
    """The tables: all systems; where two keys differ, one against the other; by length of the source; what differs."""
    yield _results(comparison)
    axes = _axes(comparison)
    if axes is not None:
        yield from (_crossed(comparison, axes, metric) for metric in ("PPL", "BLEU"))
    if comparison.buckets:
        yield from (_by_length(comparison, metric) for metric in ("BLEU", "PPL"))
    if {*comparison.differing} - {*comparison.columns}:
        yield _meanings(comparison)


def _results(comparison: Comparison) -> Grid:
    has_reference = comparison.reference is not None
    differences = ("<PPL − reference", "<BLEU − reference") if has_reference else ()
    measured = comparison.measured
    lines = []
    for number, system in enumerate(comparison.systems):
        intervals = comparison.differences(number) or (None, None)
        parameters = system.mean(lambda record: record.parameters)
        speed = system.mean(lambda record: record.tokens_per_second)
        lines.append(
            (
                *names_of(comparison, system),
                str(len(system.runs)),
                _with_deviation(measured.ppl.values[number], measured.ppl.deviations[number]),
                _with_deviation(measured.bleu.values[number], measured.bleu.deviations[number]),
                *((interval_text(each, 2) for each in intervals) if has_reference else ()),
                "" if parameters is None else f"{parameters / 1e6:.2f}M",
                "" if speed is None else f"{speed:,.0f}",
            )
        )
    headings = (*name_headings(comparison), "seeds", "PPL", "BLEU", *differences, "params", "tokens/s")
    return Grid("Runs side by side", headings, (tuple(lines),))


def _axes(comparison: Comparison) -> tuple[str, str] | None:
    """Two keys that span a grid most of which was run; keys that follow from them go along."""
    keys = comparison.columns
    values = {key: [system.settings.get(key) for system in comparison.systems] for key in keys}
    for first, second in ((a, b) for place, a in enumerate(keys) for b in keys[place + 1 :]):
        pairs = {*zip(map(repr, values[first]), map(repr, values[second]), strict=True)}
        sizes = [len({repr(value) for value in values[key]}) for key in (first, second)]
        if len(pairs) == len(comparison.systems) and min(sizes) > 1 and 4 * len(pairs) >= 3 * sizes[0] * sizes[1]:
            return first, second
    return None


def _crossed(comparison: Comparison, axes: tuple[str, str], metric: str) -> Grid:
    rows, columns = (
        list(dict.fromkeys(system.settings.get(key) for system in _in_order(comparison, key))) for key in axes
    )
    scores = (comparison.measured.ppl if metric == "PPL" else comparison.measured.bleu).values
    cells = {
        (system.settings.get(axes[0]), system.settings.get(axes[1])): f"{scores[number]:.2f}"
        for number, system in enumerate(comparison.systems)
    }
    down, across = (_short(key, comparison.columns) for key in axes)
    return Grid(
        f"{metric}: {down} down, {across} across",
        (f"<{down}", *map(str, columns)),
        (tuple((str(row), *(cells.get((row, column), "") for column in columns)) for row in rows),),
    )


def _in_order(comparison: Comparison, key: str) -> Sequence[System]:
    def order(system: System) -> tuple[bool, Any]:
        value = system.settings.get(key)
        return (True, str(value)) if not isinstance(value, int | float) else (False, value)

    return sorted(comparison.systems, key=order)


def _by_length(comparison: Comparison, metric: str) -> Grid:
    ranges = [
        f"{bucket.shortest} to {bucket.longest}{UNHEARD if bucket.is_unheard else ''}" for bucket in comparison.buckets
    ]
    lines = []
    for number, system in enumerate(comparison.systems):
        scores = [(bucket.ppl if metric == "PPL" else bucket.bleu)[number] for bucket in comparison.buckets]
        lines.append((*names_of(comparison, system), *(f"{score:.2f}" for score in scores)))
    return Grid(f"{metric} by source length in tokens", (*name_headings(comparison), *ranges), (tuple(lines),))


def _meanings(comparison: Comparison) -> Grid:
    """Each system's settings in which some differ; those of the reference are left out of the others'."""
    reference = None if comparison.reference is None else comparison.systems[comparison.reference].settings
    lines = []
    for system in comparison.systems:
        is_reference = system.settings is reference
        stated = [
            f"{_short(key, comparison.differing)} {_cell(value)}"
            for key in comparison.differing
            if (value := system.settings.get(key)) is not None
            and (reference is None or is_reference or value != reference.get(key))
        ]
        lines.append((*names_of(comparison, system), ", ".join(stated) or "as the reference"))
    other = "settings" if reference is None else "settings that are not the reference's"
    return Grid("What the names stand for", (*name_headings(comparison), f"<{other}"), (tuple(lines),))


def name_headings(comparison: Comparison) -> tuple[str, ...]:
    """Above what `names_of` gives."""
    return tuple(f"<{_short(key, comparison.columns)}" for key in comparison.columns)


def names_of(comparison: Comparison, system: System) -> tuple[str, ...]:
    """What tells a system from the others, a cell for each column."""
    return tuple(_cell(system.settings.get(key)) for key in comparison.columns)


def _cell(value: object) -> str:
    return "" if value is None else str(getattr(value, "name", value))


def _short(key: str, keys: Sequence[str]) -> str:
    """The last part of a key, where no other ends alike."""
    last = key.rpartition(".")[2]
    return last if sum(each.rpartition(".")[2] == last for each in keys) == 1 else key


def _with_deviation(value: float, deviation: float) -> str:
    return f"{value:.2f}" if math.isnan(deviation) else f"{value:.2f} ± {deviation:.2f}"


def _remarks(comparison: Comparison) -> Iterator[str]:
    yield ", ".join(f"{key} {value}" for key, value in comparison.conditions.items())
    if comparison.reference is not None:
        names = zip(comparison.columns, names_of(comparison, comparison.systems[comparison.reference]), strict=True)
        stated = (
            value if key == EXPERIMENT else f"{_short(key, comparison.columns)} {value}"
            for key, value in names
            if value
        )
        yield f"reference: {', '.join(stated)}; differences with 95% intervals; {comparison.seeds_in_intervals}"
    if not comparison.buckets:
        yield "by source length: not all of these runs noted it; evaluate them again to have it"
    if any(bucket.is_unheard for bucket in comparison.buckets):
        yield f"{UNHEARD.strip()}: longer than every sentence of the training (data.max_length)"
    yield from version_remarks(comparison.versions)


def markdown(comparison: Comparison) -> str:
    """A page."""
    return markdown_page(
        "Runs compared",
        "Written by `aiayn report comparison` from the records of the runs.",
        grids(comparison),
        _remarks(comparison),
        below=[markdown_runs(run.path for system in comparison.systems for run in system.runs)],
    )


def json_page(comparison: Comparison) -> str:
    """Everything, numbers as they are."""
    measured = comparison.measured
    systems: list[dict[str, Any]] = []
    for number, system in enumerate(comparison.systems):
        differences = comparison.differences(number)
        keys = dict.fromkeys((*comparison.columns, *comparison.differing))
        entry: dict[str, Any] = {key: _cell(system.settings.get(key)) for key in keys}
        entry |= {"seeds": [run.record.seed for run in system.runs], "runs": [str(run.path) for run in system.runs]}
        entry |= {"ppl": float(measured.ppl.values[number]), "bleu": float(measured.bleu.values[number])}
        for name, interval in zip(("ppl", "bleu"), differences or (), strict=False):
            entry[f"{name}_difference"] = {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
        entry |= {
            "parameters": system.mean(lambda record: record.parameters),
            "tokens_per_second": system.mean(lambda record: record.tokens_per_second),
        }
        systems.append(entry)
    buckets = [
        {
            "shortest": each.shortest,
            "longest": each.longest,
            "is_unheard": each.is_unheard,
            "ppl": list(each.ppl),
            "bleu": list(each.bleu),
        }
        for each in comparison.buckets
    ]
    content = {"conditions": comparison.conditions, "systems": systems, "by_source_length": buckets}
    code = [version.plain() for version in comparison.versions]
    return json_text({**content, "code": code, "remarks": list(_remarks(comparison))})
