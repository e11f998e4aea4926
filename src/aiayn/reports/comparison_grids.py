"""The report of a comparison: its tables and remarks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, NotRequired, cast

from typing_extensions import TypedDict

from aiayn.config.report_schema import ReportConfig
from aiayn.evaluation.significance import EffectContent
from aiayn.reports.budgets import budgets_text
from aiayn.reports.code_versions import CodeContent, version_remarks
from aiayn.reports.comparison import EXPERIMENT, Bucket, ComparedSystem, Comparison, compare, sort_key
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, Evidence, show
from aiayn.reports.grid import Column, Grid
from aiayn.reports.numbers import effect_text, two_decimals, with_deviation
from aiayn.reports.run_facts import origin_remarks, seed_grid
from aiayn.system.documents import NullIsInfinity

UNSEEN = " *"
"""Marks lengths that no training had."""


class SystemContent(TypedDict, extra_items=str):  # type: ignore[call-arg]  # mypy does not know extra items
    """A system: first the settings in which systems differ, by key, then its runs and scores."""

    seeds: Sequence[int]
    """The seeds."""
    runs: Sequence[Path]
    """Run directories."""
    ppl: Annotated[float, NullIsInfinity]
    """Perplexity on dev."""
    bleu: float
    """BLEU on dev."""
    ppl_difference: NotRequired[EffectContent]
    """Log perplexity less the reference's; left out for the reference, for other budgets, and without a reference."""
    bleu_difference: NotRequired[EffectContent]
    """BLEU less the reference's; left out where `ppl_difference` is."""
    parameters: float | None
    """Parameters; None if unknown."""
    tokens_per_second: float | None
    """Speed of training; None if unknown."""


@dataclass(frozen=True)
class ComparisonContent(Content):
    """Runs side by side: aiayn report comparison."""

    schema: ClassVar = "comparison/1"

    conditions: Mapping[str, str]
    """Conditions shared by all runs."""
    systems: tuple[SystemContent, ...]
    """The systems, each with the settings in which they differ."""
    by_source_length: Sequence[Bucket]
    """Scores by source length."""
    code: tuple[CodeContent, ...]
    """The versions of the code that made the runs."""
    remarks: Sequence[str]
    """Remarks of the table."""


def report_comparison(config: ReportConfig, output: Path | None) -> None:
    """Print the comparison, write it to a .md or .json file, or publish it with the data of its runs."""
    comparison = compared(config)
    show(replace(document(comparison), evidence=Evidence(comparison.runs, "dev")), output)


def compared(config: ReportConfig, *, kind: str | None = None) -> Comparison:
    """The comparison of the runs that a report chooses; see `compare`."""
    return compare(Path(config.paths.runs), config.only, kind=kind, against=config.against)


def grids(comparison: Comparison) -> Iterator[Grid]:
    """All systems; a cross table if two keys span one; scores by source length; the settings that differ."""
    yield _results(comparison)
    axes = _axes(comparison)
    if axes is not None:
        yield from (_crossed(comparison, axes, metric) for metric in ("ppl", "bleu"))
    yield from (_by_length(comparison, metric) for metric in ("bleu", "ppl"))
    if {*comparison.differing} - {*comparison.columns}:
        yield _meanings(comparison)


def _results(comparison: Comparison) -> Grid:
    def score(number: int, metric: str) -> str:
        found = comparison.metrics[metric]
        return with_deviation(found.values[number], found.deviations[number], 2)

    def to_reference(number: int, metric: str, decimals: int) -> str:
        return effect_text(comparison.differences(number).get(metric), decimals)

    def size(number: int) -> str:
        parameters = _parameters(comparison.systems[number])
        return "" if parameters is None else f"{parameters / 1e6:.2f}M"

    def speed(number: int) -> str:
        rate = _speed(comparison.systems[number])
        return "" if rate is None else f"{rate:,.0f}"

    columns = [
        *name_columns(comparison),
        Column("seeds", lambda number: str(len(comparison.systems[number].runs))),
        Column("PPL", partial(score, metric="ppl")),
        Column("BLEU", partial(score, metric="bleu")),
    ]
    if comparison.reference is not None:
        columns += [
            Column("<log PPL − reference", partial(to_reference, metric="ppl", decimals=3)),
            Column("<BLEU − reference", partial(to_reference, metric="bleu", decimals=2)),
        ]
    columns += [Column("params", size), Column("tokens/s", speed)]
    return Grid.of("Runs side by side", columns, range(len(comparison.systems)))


def _parameters(system: ComparedSystem) -> float | None:
    return system.mean(lambda run: run.record.parameters)


def _speed(system: ComparedSystem) -> float | None:
    """Tokens a second."""
    return system.mean(lambda run: run.record.tokens_per_second)


def _axes(comparison: Comparison) -> tuple[str, str] | None:
    """Two keys that determine the system, with at least three quarters of their combinations."""
    values = {key: [repr(system.settings.get(key)) for system in comparison.systems] for key in comparison.columns}
    for first, second in combinations(values, 2):
        pairs = {*zip(values[first], values[second], strict=True)}
        sizes = [len({*values[key]}) for key in (first, second)]
        if len(pairs) == len(comparison.systems) and min(sizes) > 1 and 4 * len(pairs) >= 3 * sizes[0] * sizes[1]:
            return first, second
    return None


def _crossed(comparison: Comparison, axes: tuple[str, str], metric: str) -> Grid:
    settings = [system.settings for system in comparison.systems]
    # By their representation: a value may be a list, which has no hash.
    values = [{repr(each.get(key)): each.get(key) for each in settings} for key in axes]
    rows, columns = (sorted(by_text.values(), key=sort_key) for by_text in values)
    scored = zip(settings, comparison.metrics[metric].values, strict=True)
    cells = {tuple(repr(each.get(key)) for key in axes): f"{score:.2f}" for each, score in scored}
    down, across = (_short(key, comparison.columns) for key in axes)
    return Grid(
        f"{metric.upper()}: {down} down, {across} across",
        (f"<{down}", *map(str, columns)),
        (tuple((str(row), *(cells.get((repr(row), repr(column)), "") for column in columns)) for row in rows),),
    )


def _by_length(comparison: Comparison, metric: str) -> Grid:
    def score(number: int, bucket: Bucket) -> str:
        return two_decimals(getattr(bucket, metric)[number])

    columns = name_columns(comparison)
    for bucket in comparison.buckets:
        heading = f"{bucket.shortest} to {bucket.longest}{UNSEEN if bucket.is_unseen else ''}"
        columns.append(Column(heading, partial(score, bucket=bucket)))
    return Grid.of(f"{metric.upper()} by source length in tokens", columns, range(len(comparison.systems)))


def _meanings(comparison: Comparison) -> Grid:
    """The settings in which systems differ; those equal to the reference's are omitted."""
    reference = None if comparison.reference is None else comparison.systems[comparison.reference].settings

    def meaning(number: int) -> str:
        system = comparison.systems[number]
        is_reference = system.settings is reference
        stated = [
            f"{_short(key, comparison.differing)} {_cell(value)}"
            for key in comparison.differing
            if (value := system.settings.get(key)) is not None
            and (reference is None or is_reference or value != reference.get(key))
        ]
        return ", ".join(stated) or "as the reference"

    heading = "<settings" if reference is None else "<settings that are not the reference's"
    columns = [*name_columns(comparison), Column(heading, meaning)]
    return Grid.of("Settings by name", columns, range(len(comparison.systems)))


def name_columns(comparison: Comparison) -> list[Column[int]]:
    """Columns with the name of each system, by its number."""

    def cell(number: int, key: str) -> str:
        return _cell(comparison.systems[number].settings.get(key))

    return [Column(f"<{_short(key, comparison.columns)}", partial(cell, key=key)) for key in comparison.columns]


def _cell(value: object) -> str:
    return "" if value is None else str(getattr(value, "name", value))


def _short(key: str, keys: Sequence[str]) -> str:
    """The last part of a key, if no other ends alike."""
    last = key.rpartition(".")[2]
    return last if sum(each.rpartition(".")[2] == last for each in keys) == 1 else key


def _remarks(comparison: Comparison) -> Iterator[str]:
    yield ", ".join(f"{key} {value}" for key, value in comparison.conditions.items())
    if comparison.reference is not None:
        reference = comparison.systems[comparison.reference].settings
        stated = (
            f"{'' if key == EXPERIMENT else f'{_short(key, comparison.columns)} '}{_cell(reference[key])}"
            for key in comparison.columns
            if reference.get(key) is not None
        )
        yield f"reference: {', '.join(stated)}; {comparison.seeds_in_intervals}"
        yield from _budgets(comparison, comparison.systems[comparison.reference])
    if any(bucket.is_unseen for bucket in comparison.buckets):
        yield f"{UNSEEN.strip()}: longer than every sentence of the training (data.max_length)"
    yield from comparison.left_out
    yield from origin_remarks([run.record for run in comparison.runs])
    yield from version_remarks(comparison.versions)


def _budgets(comparison: Comparison, reference: ComparedSystem) -> Iterator[str]:
    """A line for each system whose budget is not the reference's."""
    for number, system in enumerate(comparison.systems):
        if budgets := budgets_text(system.runs[0], reference.runs[0]):
            name = ", ".join(filter(None, (column.cell(number) for column in name_columns(comparison))))
            is_left_out = number in comparison.of_other_budgets
            yield f"{name}: {'no difference to the reference, ' if is_left_out else ''}budgets {budgets}"


def document(comparison: Comparison) -> Document:
    """The comparison as plain data."""
    remarks = list(_remarks(comparison))
    return Document(
        title="Runs compared",
        written="Written by `aiayn report comparison` from the records of the runs.",
        grids=[*grids(comparison), seed_grid(comparison.runs, "dev")],
        terminal_grids=list(grids(comparison)),
        remarks=remarks,
        runs=[run.path for run in comparison.runs],
        content=ComparisonContent(
            conditions=comparison.conditions,
            systems=tuple(_system(comparison, number) for number in range(len(comparison.systems))),
            by_source_length=comparison.buckets,
            code=tuple(version.content for version in comparison.versions),
            remarks=remarks,
        ),
    )


def _system(comparison: Comparison, number: int) -> SystemContent:
    system = comparison.systems[number]
    keys = dict.fromkeys((*comparison.columns, *comparison.differing))
    plain: dict[str, Any] = {key: _cell(system.settings.get(key)) for key in keys}
    plain |= {"seeds": [run.record.seed for run in system.runs], "runs": [run.path for run in system.runs]}
    plain |= {name: float(metric.values[number]) for name, metric in comparison.metrics.items()}
    plain |= {f"{name}_difference": effect.content for name, effect in comparison.differences(number).items()}
    plain |= {"parameters": _parameters(system), "tokens_per_second": _speed(system)}
    return cast("SystemContent", plain)
