"""The sharpness of attention, untrained and trained: variance of logits, entropy of weights (section 3.2.1)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Annotated, ClassVar, TypeAlias, cast

from typing_extensions import TypedDict

from aiayn.config.report_schema import ReportConfig
from aiayn.evaluation.significance import Floats
from aiayn.extensions.sharpness.attention_sharpness import AttentionSharpness
from aiayn.extensions.sharpness.measuring import measure_sharpness
from aiayn.reports.code_versions import CodeContent, version_remarks
from aiayn.reports.comparison import Comparison
from aiayn.reports.comparison_grids import compared, name_columns
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Column, Grid
from aiayn.reports.numbers import two_decimals
from aiayn.system.documents import NullIsInfinity

Stages: TypeAlias = tuple[Sequence[AttentionSharpness], Sequence[AttentionSharpness]]
"""The sharpness of each system over its seeds, before training and trained."""


@dataclass(frozen=True)
class MeasuredAttention:
    """The sharpness of one kind of attention."""

    queries: int
    """Queries measured."""
    variance: list[list[float]]
    """Variance of logits, by layer and head."""
    entropy: list[list[float]]
    """Entropy of weights as a share of ln(keys), by layer and head."""


class MeasuredSystem(TypedDict, extra_items=str):  # type: ignore[call-arg]  # mypy does not know extra items
    """A system: first the settings in which systems differ, by key, then its runs, scores and sharpness."""

    seeds: tuple[int, ...]
    """The seeds."""
    runs: tuple[Path, ...]
    """Run directories."""
    ppl: Annotated[float, NullIsInfinity]
    """Perplexity on dev."""
    bleu: float
    """BLEU on dev."""
    before_training: Mapping[str, MeasuredAttention]
    """The sharpness with the initial weights, by kind of attention."""
    trained: Mapping[str, MeasuredAttention]
    """The sharpness with the trained weights, by kind of attention."""


@dataclass(frozen=True)
class SharpnessContent(Content):
    """How sharp attention is: aiayn report sharpness."""

    schema: ClassVar = "sharpness/1"

    conditions: Mapping[str, str]
    """Conditions shared by all runs."""
    systems: Sequence[MeasuredSystem]
    """The systems, each with the settings in which they differ."""
    code: tuple[CodeContent, ...]
    """The versions of the code that made the runs."""


def report_sharpness(config: ReportConfig, output: Path | None) -> None:
    """Print the sharpness of attention in each Transformer, or write it to a .md or .json file.

    Raises:
        UserError: the runs do not compare, or one cannot be read.
    """
    comparison = compared(config, kind="transformer")
    measure = partial(
        measure_sharpness,
        cache=Path(config.paths.cache),
        sentences=config.sentences,
        device=config.device,
        trust=config.trust,
    )
    measured = [[measure(run.path) for run in system.runs] for system in comparison.systems]
    initial, trained = ([_over_seeds([run[stage] for run in runs]) for runs in measured] for stage in (0, 1))
    show(document(comparison, (initial, trained)), output)


def _over_seeds(runs: Sequence[AttentionSharpness]) -> AttentionSharpness:
    return AttentionSharpness(*(reduce(add, of_one_kind) for of_one_kind in zip(*runs, strict=True)))


def grids(comparison: Comparison, stages: Stages) -> Iterator[Grid]:
    """A table for the initial weights, and one for the trained ones."""
    trained = {"PPL": comparison.measured.ppl.values, "BLEU": comparison.measured.bleu.values}
    for title, stage, scores in (("Before training", stages[0], {}), ("Trained", stages[1], trained)):
        columns = name_columns(comparison)
        for measure, decimals in (("variance", 2), ("entropy", 3)):
            for kind in AttentionSharpness._fields:
                cell = partial(_mean, stage, kind=kind, measure=measure, decimals=decimals)
                columns.append(Column(f"{measure} {kind}", cell))
        columns += [Column(heading, partial(_score, of=of)) for heading, of in scores.items()]
        yield Grid.of(title, columns, range(len(comparison.systems)))


def _mean(stage: Sequence[AttentionSharpness], number: int, *, kind: str, measure: str, decimals: int) -> str:
    return f"{getattr(getattr(stage[number], kind), measure).mean():.{decimals}f}"


def _score(number: int, *, of: Floats) -> str:
    return two_decimals(of[number])


def document(comparison: Comparison, stages: Stages) -> Document:
    """The report as plain data."""
    initial, trained = stages
    versions, queries = comparison.versions, trained[0].encoder.queries
    systems = [
        {
            **dict(zip(comparison.columns, (column.cell(number) for column in name_columns(comparison)), strict=True)),
            "seeds": [run.record.seed for run in system.runs],
            "runs": [run.path for run in system.runs],
            "ppl": float(comparison.measured.ppl.values[number]),
            "bleu": float(comparison.measured.bleu.values[number]),
            "before_training": _content(initial[number]),
            "trained": _content(trained[number]),
        }
        for number, system in enumerate(comparison.systems)
    ]
    return Document(
        title="How sharp attention is",
        written="Written by `aiayn report sharpness` from the checkpoints of the runs.",
        grids=list(grids(comparison, stages)),
        remarks=[
            f"variance: of a query's logits over its visible keys, mean over {queries:,} queries, layers and heads",
            "entropy: of its weights as a share of ln(keys); 1 is uniform, 0 is a single key",
            *version_remarks(versions),
        ],
        runs=[run.path for run in comparison.runs],
        content=SharpnessContent(
            conditions=comparison.conditions,
            systems=cast("list[MeasuredSystem]", systems),
            code=tuple(each.content for each in versions),
        ),
    )


def _content(sharpness: AttentionSharpness) -> dict[str, MeasuredAttention]:
    """By kind of attention; variances and entropies are `[num_layers, num_heads]`."""
    return {
        kind: MeasuredAttention(each.queries, each.variance.tolist(), each.entropy.tolist())
        for kind, each in sharpness._asdict().items()
    }
