"""One run beside the paper's row, on the terminal."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import Console
from rich.table import Table

from aiayn.paper.tables import Row, load_table3
from aiayn.reports.content import Content
from aiayn.reports.formats import console, print_content, print_text
from aiayn.reports.numbers import duration, millions
from aiayn.runs.record import Record, SplitScores, Status
from aiayn.system.output_format import Format, output_format

COMPARABILITY = "paper: values compare only with equal data, vocabulary and definition of BLEU"


@dataclass(frozen=True)
class PrintedRow:
    """A row of Table 3 as printed."""

    row: str
    """Row of Table 3."""
    ppl: float | None
    """Perplexity as printed; None where blank."""
    bleu: float | None
    """BLEU as printed; None where blank."""


@dataclass(frozen=True)
class RunContent(Content):
    """A run: aiayn train, aiayn report run."""

    schema: ClassVar = "run/1"

    run: Path
    """Run directory."""
    record: Record
    """The record of the run, run.json."""
    paper: PrintedRow | None
    """The paper's row, of other data; None for other experiments."""


@dataclass(frozen=True)
class EvaluateContent(Content):
    """Scores of a checkpoint: aiayn evaluate."""

    schema: ClassVar = "evaluate/1"

    run: str
    """Run directory."""
    scores: Mapping[str, SplitScores]
    """The scores by split."""


def paper_row(experiment: str) -> Row | None:
    """The paper's row of an experiment such as table3/base; None for other experiments."""
    rows = {f"table3/{row.id}": row for row in load_table3().rows}
    return rows.get(experiment)


def print_row(record: Record, directory: Path) -> None:
    """Print the run's row beside the paper's, and the run directory as the user would name it."""
    if output_format() is Format.json:
        print_record(record, directory)
        return
    output = console()
    if record.status is not Status.finished or not record.scores:
        print_text(f"{record.experiment}: {record.status.value}; {directory}", output)
        return
    print_table(row_table(record), output)
    print_text(f"{footer(record)}\nrun: {directory}", output)


def print_record(record: Record, directory: Path) -> None:
    """Print a run's record as JSON, with the row of Table 3 if it has one."""
    paper = paper_row(record.experiment)
    printed = None if paper is None else PrintedRow(paper.id, paper.ppl.value, paper.bleu.value)
    print_content(RunContent(directory, record, printed))


def print_table(table: Table, output: Console) -> None:
    """Print a table; a terminal wraps its title between words."""
    output.print(table, soft_wrap=not output.is_terminal, crop=False)


def row_table(record: Record) -> Table:
    """Paper and run, one line each; ours is of the development set, as the paper's."""
    title = f"{record.title}, scale {record.scale}, seed {record.seed}, data {record.data}"
    table = Table(title=title if record.trial is None else f"{title}: a trial ({record.trial})", min_width=64)
    dev = record.scores["dev"]
    for heading in ("", "PPL (dev)", f"{dev.quality_name} (dev)", "params", "steps"):
        table.add_column(heading, justify="right" if heading else "left")
    if (paper := compared_row(record)) is not None:
        table.add_row(f"paper, {load_table3().caption.dev_set}", *paper_cells(paper))
    scores = f"{dev.ppl:.2f}", f"{dev.quality.score:.1f}"
    table.add_row(f"this run, {record.data}", *scores, millions(record.parameters), record.steps_done())
    return table


def compared_row(record: Record) -> Row | None:
    """The paper's row to show above a run; None for other experiments, trees and trials."""
    is_compared = record.trial is None and next(iter(record.scores.values())).bleu is not None
    return paper_row(record.experiment) if is_compared else None


def paper_cells(paper: Row) -> tuple[str, str, str, str]:
    """PPL, BLEU, parameters and steps as the paper prints them; a blank cell means "as base"."""
    table = load_table3()
    parameters = f"{paper.parameters}M" if paper.parameters.printed else f"({table.row('base').parameters}M)"
    return str(paper.ppl), str(paper.bleu), parameters, f"{paper.settings(table)['optimization.max_steps']:,}"


def footer(record: Record) -> str:
    """Definitions of the table's numbers, in a few lines."""
    test, dev = record.scores.get("test"), record.scores["dev"]
    lines = []
    if test is not None:
        scores = ", ".join(f"{name} {score.score:.1f}" for name, score in test.shown.items())
        lines.append(f"test: PPL {test.ppl:.2f}, {scores} ({test.sentences:,} sentences)")
    if averaged := dev.averaged_steps:
        several = f"the mean of {len(averaged)} checkpoints, of steps {averaged[0]:,} to {averaged[-1]:,}"
        lines.append(f"weights: {several if len(averaged) > 1 else f'of step {averaged[0]:,}'}")
    lines.append(f"{dev.quality_name}: {dev.quality.signature}")
    lines += [f"{split}: {each.limit_remark}" for split, each in record.scores.items() if each.limit_remark]
    if compared_row(record) is not None:
        lines.append(COMPARABILITY)
    speed = f", {record.tokens_per_second:,.0f} tokens/s" if record.tokens_per_second else ""
    lines.append(f"training: {duration(record.seconds)}, {record.tokens:,} tokens{speed}")
    return "\n".join(lines)


def print_scores(scores: Mapping[str, SplitScores], *, run: str, title: str | None = None) -> None:
    """Print the scores of one evaluation.

    Args:
        scores: by split.
        run: the run directory below which its files are.
        title: for an evaluation of several runs.
    """
    if output_format() is Format.json:
        print_content(EvaluateContent(run, scores))
        return
    table = Table()
    any_split = next(iter(scores.values()))
    in_table = slice(2 if len(any_split.shown) <= 2 else 1)  # the other scores do not fit 80 columns
    for heading in ("split", "PPL", *[*any_split.shown][in_table], "sentences", "step"):
        table.add_column(heading, justify="left" if heading == "split" else "right")
    lines = []
    for split, result in scores.items():
        values = [f"{score.score:.2f}" for score in result.shown.values()]
        table.add_row(split, f"{result.ppl:.2f}", *values[in_table], f"{result.sentences:,}", result.checkpoint)
        lines.append(f"{split}: {Path(run) / result.hypotheses}")
        others = [f"{name} {value}" for name, value in zip(result.shown, values, strict=True)][in_table.stop :]
        lines += [f"{split}: {', '.join(others)}"] if others else []
        lines += [f"{split}: {result.limit_remark}"] if result.limit_remark else []
    output = console()
    print_text(title or run, output)
    print_table(table, output)
    print_text("\n".join([*lines, f"{any_split.quality_name}: {any_split.quality.signature}"]), output)
