"""One run beside the paper's row, on the terminal."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from aiayn.paper.tables import Row, load_table3
from aiayn.runs.record import Record, SplitScores, Status

COMPARABILITY = "paper: other data, vocabulary or BLEU; no value of ours compares with it"


def paper_row(experiment: str) -> Row | None:
    """The paper's row for an experiment such as table3/base; None for the user's own experiments."""
    table, _, row_id = experiment.partition("/")
    rows = {row.id: row for row in load_table3().rows} if table == "table3" else {}
    return rows.get(row_id)


def print_row(record: Record, directory: Path) -> None:
    """Print the run's row beside the paper's, and where the run lies.

    Args:
        record: of the run.
        directory: its folder, as the user would name it.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if record.status is not Status.finished or not record.scores:
        console.print(f"{record.experiment}: {record.status.value}; {directory}")
        return
    console.print(row_table(record))
    console.print(footer(record))
    console.print(f"run: {directory}")


def row_table(record: Record) -> Table:
    """Paper and run, one line each; the paper's columns are of its development set, so ours are too."""
    paper = _paper_beside(record)
    row = f"{record.experiment} {record.difference}".rstrip()
    title = f"{row}, scale {record.scale}, seed {record.seed}, data {record.data}"
    table = Table(title=title if record.trial is None else f"{title}: a trial ({record.trial})", min_width=64)
    dev = record.scores["dev"]
    for heading in ("", "PPL (dev)", f"{dev.quality_name} (dev)", "params", "steps"):
        table.add_column(heading, justify="left" if not heading else "right")
    if paper is not None:
        table.add_row(f"paper, {load_table3().caption.dev_set}", *paper_cells(paper))
    table.add_row(
        f"this run, {record.data}",
        f"{dev.ppl:.2f}",
        f"{dev.quality.score:.1f}",
        millions(record.parameters),
        record.steps_done(),
    )
    return table


def _paper_beside(record: Record) -> Row | None:
    """The paper's row to show above a run; None for a run of none, one on trees, and a trial."""
    is_compared = record.trial is None and record.scores["dev"].bleu is not None
    return paper_row(record.experiment) if is_compared else None


def paper_cells(paper: Row) -> tuple[str, str, str, str]:
    """PPL, BLEU, parameters and steps as the paper prints them; a blank cell means "as base"."""
    table = load_table3()
    base = table.row("base")
    parameters = f"{paper.parameters}M" if paper.parameters.printed else f"({base.parameters}M)"
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
    if _paper_beside(record) is not None:
        lines.append(COMPARABILITY)
    speed = f", {record.tokens_per_second:,.0f} tokens/s" if record.tokens_per_second else ""
    lines.append(f"training: {duration(record.seconds)}, {record.tokens:,} tokens{speed}")
    return "\n".join(lines)


def print_scores(scores: Mapping[str, SplitScores], *, run: str, title: str | None = None) -> None:
    """Print the scores of one evaluation.

    Args:
        scores: by split.
        run: the run directory below which its files lie.
        title: where it is of more than this run.
    """
    table = Table(title=title or run)
    any_split = next(iter(scores.values()))
    in_table = slice(2 if len(any_split.shown) <= 2 else 1)  # a terminal is 80 signs wide
    for heading in ("split", "PPL", *[*any_split.shown][in_table], "sentences", "step"):
        table.add_column(heading, justify="left" if heading == "split" else "right")
    for split, result in scores.items():
        table.add_row(
            split,
            f"{result.ppl:.2f}",
            *[f"{score.score:.2f}" for score in result.shown.values()][in_table],
            f"{result.sentences:,}",
            result.checkpoint,
        )
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(table)
    for split, result in scores.items():
        console.print(f"{split}: {Path(run) / result.hypotheses}")
        if others := [f"{name} {score.score:.2f}" for name, score in result.shown.items()][in_table.stop :]:
            console.print(f"{split}: {', '.join(others)}")
    console.print(f"{any_split.quality_name}: {any_split.quality.signature}")


def millions(count: int | None) -> str:
    """A count in millions with one decimal, as in 63.1M."""
    return "" if count is None else f"{count / 1e6:.1f}M"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, as in 1 h 02 min 03 s."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min {rest:02d} s"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
