"""How sharp the attention of runs is, untrained and trained: logits' variance and weights' entropy (section 3.2.1)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeAlias

from aiayn.config.report_schema import ReportConfig
from aiayn.models.attention_sharpness import AttentionSharpness
from aiayn.reports.code_versions import version_remarks
from aiayn.reports.comparison import Comparison
from aiayn.reports.comparison_formats import compared, name_headings, names_of
from aiayn.reports.grids import Grid, markdown_page, markdown_runs, print_or_write
from aiayn.runs.record import json_text

Measure: TypeAlias = Callable[[Path], tuple[AttentionSharpness, AttentionSharpness]]
"""What a run directory's model gives as its weights were drawn, and as they were trained."""


@dataclass(frozen=True)
class SharpnessOfRuns:
    """Runs side by side."""

    comparison: Comparison
    drawn: Sequence[AttentionSharpness]
    """Of each system, over its seeds."""
    trained: Sequence[AttentionSharpness]


def report_sharpness(config: ReportConfig, output: Path | None, measure: Measure) -> None:
    """Print how sharp the attention of each Transformer is, or write it.

    Args:
        config: of the command.
        output: a .md or .json file, or None for the terminal.
        measure: reads a run.

    Raises:
        UserError: the runs do not compare, or one cannot be read.
    """
    comparison = compared(config, kind="transformer")
    measured = [[measure(run.path) for run in system.runs] for system in comparison.systems]
    drawn, trained = ([_over_seeds([run[stage] for run in runs]) for runs in measured] for stage in (0, 1))
    sharpness = SharpnessOfRuns(comparison, drawn, trained)
    print_or_write(sharpness, output, {".md": _markdown, ".json": _json}, grids=grids, remarks=_remarks)


def _over_seeds(runs: Sequence[AttentionSharpness]) -> AttentionSharpness:
    return AttentionSharpness(*(reduce(add, of_one_kind) for of_one_kind in zip(*runs, strict=True)))


def grids(sharpness: SharpnessOfRuns) -> Iterator[Grid]:
    """A table for the weights as they were drawn, and one as they were trained."""
    for title, stage in (("Before training", sharpness.drawn), ("Trained", sharpness.trained)):
        comparison = sharpness.comparison
        lines = tuple(
            (
                *names_of(comparison, system),
                *(f"{each.variance.mean():.2f}" for each in of_system),
                *(f"{each.entropy.mean():.3f}" for each in of_system),
                f"{comparison.measured.ppl.values[number]:.2f}",
                f"{comparison.measured.bleu.values[number]:.2f}",
            )
            for number, (system, of_system) in enumerate(zip(comparison.systems, stage, strict=True))
        )
        headings = (f"{what} {kind}" for what in ("variance", "entropy") for kind in AttentionSharpness._fields)
        yield Grid(title, (*name_headings(comparison), *headings, "PPL", "BLEU"), (lines,))


def _remarks(sharpness: SharpnessOfRuns) -> Iterator[str]:
    queries = sharpness.trained[0].encoder.queries
    yield f"variance: of a query's logits over the keys that it sees, mean over {queries:,} queries, layers and heads"
    yield "entropy: of its weights as a share of ln(keys); 1 is even, 0 is one key alone"
    yield from version_remarks(sharpness.comparison.versions)


def _markdown(sharpness: SharpnessOfRuns) -> str:
    return markdown_page(
        "How sharp attention is",
        "Written by `aiayn report sharpness` from the checkpoints of the runs.",
        grids(sharpness),
        _remarks(sharpness),
        below=[markdown_runs(run.path for system in sharpness.comparison.systems for run in system.runs)],
    )


def _json(sharpness: SharpnessOfRuns) -> str:
    comparison = sharpness.comparison
    systems = [
        {
            **dict(zip(comparison.columns, names_of(comparison, system), strict=True)),
            "seeds": [run.record.seed for run in system.runs],
            "runs": [str(run.path) for run in system.runs],
            "ppl": float(comparison.measured.ppl.values[number]),
            "bleu": float(comparison.measured.bleu.values[number]),
            "before_training": _plain(sharpness.drawn[number]),
            "trained": _plain(sharpness.trained[number]),
        }
        for number, system in enumerate(comparison.systems)
    ]
    code = [version.plain() for version in comparison.versions]
    return json_text({"conditions": comparison.conditions, "systems": systems, "code": code})


def _plain(sharpness: AttentionSharpness) -> dict[str, Any]:
    """By kind of attention; variances and entropies are `[num_layers, num_heads]`."""
    return {
        kind: {"queries": each.queries, "variance": each.variance.tolist(), "entropy": each.entropy.tolist()}
        for kind, each in sharpness._asdict().items()
    }
