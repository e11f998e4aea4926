"""The report of two runs compared: its tables and remarks."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aiayn.config.report_schema import CompareConfig
from aiayn.data.corpora.corpus import Split
from aiayn.errors import UserError
from aiayn.reports.code_versions import CodeVersion, code_versions, scoring_remarks, version_remarks
from aiayn.reports.formats import Document, Grid, show
from aiayn.reports.numbers import signed
from aiayn.reports.paired import Bucket, Example, Paired, compare_two
from aiayn.runs.evaluations import open_evaluation

SCORED: tuple[Split, ...] = ("dev", "test")

SUFFIXES = (".md", ".json")


def report_paired(config: CompareConfig, output: Path | None) -> None:
    """Print how two runs compare, or write it to a .md or .json file.

    Raises:
        UserError: no format has the file's suffix, there is no such split, or the runs do not compare.
    """
    if output is not None and output.suffix not in SUFFIXES:
        raise UserError(f"output={output}: the suffix says the format; choose from {', '.join(SUFFIXES)}")
    split = next((name for name in SCORED if name == config.split), None)
    if split is None:
        raise UserError(f"split={config.split}: choose from {', '.join(SCORED)}")
    paired = compare_two(
        open_evaluation(config.run),
        open_evaluation(config.against, key="against"),
        split,
        cache=Path(config.paths.cache),
        examples=config.examples,
        resamples=config.resamples,
        seed=config.seed,
    )
    show(document(paired), output)


def grids(paired: Paired) -> Iterator[Grid]:
    """Scores with their tests; by source length; by rare words; the sentences with the largest differences."""
    bleu = paired.evaluations[0].scores[paired.split].bleu_name
    yield _scores(paired)
    if paired.by_length:
        yield _buckets("By source length in tokens", "length", paired.by_length, bleu)
    if paired.by_rarest_word:
        yield _buckets("By how often training has the reference's rarest word", "times", paired.by_rarest_word, bleu)
    if paired.words:
        lines = [
            (each.label, f"{each.words:,}", *(f"{100 * found / each.words:.1f}" for found in each.found))
            for each in paired.words
        ]
        headings = ("<times in training", "words", "% found by A", "% found by B")
        yield Grid("Words of the references that the hypotheses have", headings, (tuple(lines),))
    if paired.largest_wins:
        yield _examples("Sentences on which A is ahead most", paired.largest_wins)
    if paired.largest_losses:
        yield _examples("Sentences on which B is ahead most", paired.largest_losses)


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


def _examples(title: str, examples: Sequence[Example]) -> Grid:
    groups = []
    for each in examples:
        first, second = zip(each.hypotheses, (f"{score:.1f}" for score in each.bleu), strict=True)
        texts = (("source", each.source, ""), ("reference", each.reference, ""), ("A", *first), ("B", *second))
        groups.append(tuple((str(each.number), *cells) for cells in texts))
    return Grid(title, ("line", "<", "<text", "BLEU"), tuple(groups))


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


def document(paired: Paired) -> Document:
    """The comparison as plain data."""
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
    return Document(
        title="Two runs compared",
        written="Written by `aiayn compare` from the sentence scores and hypotheses of both.",
        grids=list(grids(paired)),
        remarks=list(_remarks(paired)),
        content={**content, "notes": _notes(paired)},
    )
