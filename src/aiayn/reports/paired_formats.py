"""Two runs compared, on the terminal, as Markdown and as JSON."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aiayn.config.report_schema import CompareConfig
from aiayn.data.corpora.corpus import Split
from aiayn.errors import UserError
from aiayn.reports.code_versions import CodeVersion, code_versions, scoring_remarks, version_remarks
from aiayn.reports.grids import Grid, console, markdown_page, markdown_table, rich_table
from aiayn.reports.paired import Bucket, Example, Paired, compare_two
from aiayn.reports.tables.table3_formats import check_resampling
from aiayn.reports.tables.table3_grids import signed
from aiayn.runs.evaluations import open_evaluation
from aiayn.runs.record import json_text
from aiayn.system import files

SCORED: tuple[Split, ...] = ("dev", "test")

SUFFIXES = (".md", ".json")
"""Of the files that can be written."""


def report_paired(config: CompareConfig, output: Path | None) -> None:
    """Print how two runs compare, or write it.

    Args:
        config: of the command.
        output: a .md or .json file, or None for the terminal.

    Raises:
        UserError: no format has the file's suffix, a value is not allowed, or the runs do not compare.
    """
    if output is not None and output.suffix not in SUFFIXES:
        raise UserError(f"output={output}: the suffix says the format; choose from {', '.join(SUFFIXES)}")
    check_resampling(config)
    split = next((name for name in SCORED if name == config.split), None)
    if split is None:
        raise UserError(f"split={config.split}: choose from {', '.join(SCORED)}")
    if config.examples < 0:
        raise UserError(f"examples={config.examples}: must not be negative")
    paired = compare_two(
        open_evaluation(config.run),
        open_evaluation(config.against, key="against"),
        split,
        cache=Path(config.paths.cache),
        examples=config.examples,
        resamples=config.resamples,
        seed=config.seed,
    )
    if output is not None:
        files.write_text(output, json_page(paired) if output.suffix == ".json" else markdown(paired))
        print(output)  # noqa: T201
        return
    output_to = console()
    for grid in grids(paired):
        output_to.print(rich_table(grid))
    for title, examples in _examples(paired):
        output_to.print(title)
        for line in _plain(examples):
            output_to.print(line, soft_wrap=True)
    for line in _remarks(paired):
        output_to.print(line, soft_wrap=True)


def grids(paired: Paired) -> Iterator[Grid]:
    """The tables: scores with their tests; by length of the source; by rare words."""
    yield _scores(paired)
    if paired.by_length:
        yield _buckets("By source length in tokens", "length", paired.by_length, paired.bleu_name)
    if paired.by_rarest_word:
        title = "By how often training has the reference's rarest word"
        yield _buckets(title, "times", paired.by_rarest_word, paired.bleu_name)
    if paired.words:
        lines = [
            (each.label, f"{each.words:,}", *(f"{100 * found / each.words:.1f}" for found in each.found))
            for each in paired.words
        ]
        headings = ("<times in training", "words", "% found by A", "% found by B")
        yield Grid("Words of the references that the hypotheses have", headings, (tuple(lines),))


def _scores(paired: Paired) -> Grid:
    lines = [
        (
            name,
            f"{test.first:.2f}",
            f"{test.second:.2f}",
            f"{signed(test.difference, 2)} [{signed(test.low, 2)}, {signed(test.high, 2)}]",
            f"{test.bootstrap_p:.4f}",
            f"{test.randomization_p:.4f}",
        )
        for name, test in paired.tests.items()
    ]
    headings = ("<score", "A", "B", "<A − B", "p, bootstrap", "p, randomisation")
    size = paired.evaluations[0].scores[paired.split].sentences
    return Grid(f"A against B on {paired.split}, {size:,} sentences", headings, (tuple(lines),))


def _buckets(title: str, key: str, buckets: Sequence[Bucket], bleu: str) -> Grid:
    lines = [
        (
            each.label,
            f"{each.sentences:,}",
            *(f"{score:.2f}" for score in (*each.ppl, *each.bleu)),
            signed(each.bleu[0] - each.bleu[1], 2),
            f"{each.wins:,}",
            f"{each.losses:,}",
        )
        for each in buckets
    ]
    scores = ("PPL A", "PPL B", f"{bleu} A", f"{bleu} B", f"{bleu} A − B")
    return Grid(title, (f"<{key}", "sentences", *scores, "A better", "B better"), (tuple(lines),))


def _examples(paired: Paired) -> Iterator[tuple[str, Sequence[Example]]]:
    if paired.largest_wins:
        yield "Sentences on which A is ahead most", paired.largest_wins
    if paired.largest_losses:
        yield "Sentences on which B is ahead most", paired.largest_losses


def _plain(examples: Sequence[Example]) -> Iterator[str]:
    for each in examples:
        yield f"  {each.number}: sentence BLEU {each.bleu[0]:.1f} against {each.bleu[1]:.1f}"
        for name, text in _texts(each):
            yield f"    {name + ':':<10} {text}"
    yield ""


def _texts(example: Example) -> Iterator[tuple[str, str]]:
    ours, theirs = example.hypotheses
    yield from (("source", example.source), ("reference", example.reference), ("A", ours), ("B", theirs))


def _remarks(paired: Paired) -> Iterator[str]:
    for letter, evaluation in zip("AB", paired.evaluations, strict=True):
        record, scored = evaluation.record, evaluation.scores[paired.split]
        yield f"{letter}: {record.experiment}, seed {record.seed}, step {scored.origin}: {evaluation.name}"
    yield f"sentence BLEU: A better on {paired.wins:,}, B on {paired.losses:,}, equal on {paired.ties:,}"
    yield from (f"{name}: {paired.signatures[name]}" for name in paired.tests if name in paired.signatures)
    yield "intervals and p are of these sentences alone; what other seeds change: aiayn report comparison"
    yield from version_remarks(_versions(paired))
    yield from _notes(paired)


def _versions(paired: Paired) -> tuple[CodeVersion, ...]:
    return code_versions((evaluation.directory.path, evaluation.record) for evaluation in paired.evaluations)


def _notes(paired: Paired) -> list[str]:
    scored = ((each.record.name, each.record, each.scores[paired.split]) for each in paired.evaluations)
    return [*scoring_remarks(scored), *paired.notes]


def markdown(paired: Paired) -> str:
    """A page."""
    return markdown_page(
        "Two runs compared",
        "Written by `aiayn compare` from the sentence scores and hypotheses of both.",
        grids(paired),
        _remarks(paired),
        between=[_example_section(title, examples) for title, examples in _examples(paired)],
    )


def _example_section(title: str, examples: Sequence[Example]) -> str:
    lines = [
        (str(each.number), name, text, bleu)
        for each in examples
        for (name, text), bleu in zip(_texts(each), ("", "", *(f"{score:.1f}" for score in each.bleu)), strict=True)
    ]
    return markdown_table(Grid(title, ("line", "<", "<text", "BLEU"), (tuple(lines),)))


def json_page(paired: Paired) -> str:
    """Everything, numbers as they are."""
    content: dict[str, Any] = {
        "runs": {
            letter: {"run": each.name, "experiment": each.record.experiment, "seed": each.record.seed}
            for letter, each in zip(("a", "b"), paired.evaluations, strict=True)
        },
        "code": [version.plain() for version in _versions(paired)],
        "split": paired.split,
        "tests": {name: {**vars(test), "difference": test.difference} for name, test in paired.tests.items()},
        "signatures": dict(paired.signatures),
        "wins": paired.wins,
        "losses": paired.losses,
        "ties": paired.ties,
    }
    for name in ("by_length", "by_rarest_word", "words", "largest_wins", "largest_losses"):
        content[name] = [dataclasses.asdict(each) for each in getattr(paired, name)]
    return json_text({**content, "notes": _notes(paired)})
