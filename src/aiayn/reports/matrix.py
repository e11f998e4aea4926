"""One evaluation by every definition of BLEU, and by other scores, each with its signature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from aiayn.config.report_schema import ReportConfig
from aiayn.data.corpora.corpus import HELD_OUT, Split
from aiayn.errors import UserError
from aiayn.evaluation.matrix import TITLES, Translations, slow_scores, title
from aiayn.evaluation.score import Score
from aiayn.evaluation.test_sets import known_test_sets, remedy
from aiayn.reports.code_versions import CodeContent, code_versions, scoring_remarks, version_remarks
from aiayn.reports.content import Content
from aiayn.reports.evaluated_texts import corpus_of
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid
from aiayn.runs.evaluations import Evaluation, open_evaluation
from aiayn.runs.record import check_translations


@dataclass(frozen=True)
class Matrix:
    """The scores of an evaluation."""

    evaluation: Evaluation
    scores: Mapping[Split, Mapping[str, Score]]
    """By split and name."""
    remarks: Sequence[str]


@dataclass(frozen=True)
class MatrixContent(Content):
    """A run's scores by definition: aiayn report matrix."""

    schema: ClassVar = "matrix/1"

    run: str
    """Run directory, or a folder of its evaluations."""
    data: str
    """The corpus."""
    code: tuple[CodeContent, ...]
    """The versions of the code that made the run."""
    remarks: tuple[str, ...]
    """Remarks of the table."""
    scores: Mapping[Split, Mapping[str, Score]]
    """The scores by split and definition."""


def report_matrix(config: ReportConfig, output: Path | None) -> None:
    """Print every score of an evaluation, or write them to a .md or .json file."""
    if config.run is None:
        raise UserError("run has no value: state the run directory, as in run=runs/table3/base/...")
    asked = config.metrics if isinstance(config.metrics, list) else [config.metrics]
    metrics = [str(name) for name in asked if name is not None]
    evaluation, cache = open_evaluation(config.run), Path(config.paths.cache)
    show(document(read_matrix(evaluation, metrics, cache=cache, comet_model=config.comet_model)), output)


def read_matrix(evaluation: Evaluation, metrics: Sequence[str], *, cache: Path, comet_model: str) -> Matrix:
    """The recorded scores, and those of these metrics from the hypotheses.

    Args:
        evaluation: the hypotheses to score.
        metrics: of `aiayn.evaluation.matrix.SLOW`.
        cache: may hold the corpus.
        comet_model: see `aiayn.evaluation.comet`.

    Raises:
        UserError: nothing was evaluated, the corpus is in no cache, or a metric is not installed.
    """
    splits = [split for split in HELD_OUT if split in evaluation.scores]
    if not splits:
        evaluation.of("test", key="run")
    data = corpus_of(evaluation, cache)
    if metrics and data is None:
        raise UserError(
            f"run={evaluation.name}: references are needed, and paths.cache={cache} does not hold its data "
            f"{evaluation.record.data_fingerprint}: bring them back"
        )
    scores: dict[Split, Mapping[str, Score]] = {}
    remarks = []
    for split in splits:
        recorded = evaluation.scores[split]
        check_translations(recorded, place=f"run={evaluation.name}")
        found = recorded.by_definition
        if data is not None:
            lines = data.split(split, limit=recorded.sentences)
            sources, references, hypotheses = lines.source_lines(), data.references(lines), evaluation.hypotheses(split)
            text = Translations(
                hypotheses, references, data.languages[1], data.pretokenized, sources, stated=recorded.bleu_tokenizer
            )
            found = found | slow_scores(text, metrics, comet_model=comet_model)
            pair = "-".join(data.languages)
            known = known_test_sets(sources, references, languages=pair, normalized=data.tokenizer.normalized)
            line = None if data.pretokenized else remedy(recorded.sentences, known, languages=pair)
            remarks += [f"{split}: {line}"] if line else []
        scores[split] = {name: found[name] for name in TITLES if name in found}
    return Matrix(evaluation, scores, remarks)


def definitions(scores: Mapping[Any, Mapping[str, Score]]) -> Grid:
    """A line for each definition, a column for each split, from scores by split and name."""
    any_split = {name: score for of_split in scores.values() for name, score in of_split.items()}
    lines = []
    for name in (name for name in TITLES if name in any_split):
        found = (f"{of_split[name].score:.2f}" if name in of_split else "" for of_split in scores.values())
        lines.append((title(name, any_split[name]), *found, any_split[name].signature))
    return Grid("The same hypotheses, by definition", ("<definition", *scores, "<signature"), (tuple(lines),))


def document(matrix: Matrix) -> Document:
    """The report as plain data."""
    evaluation, record = matrix.evaluation, matrix.evaluation.record
    versions = code_versions([(evaluation.directory.path, record)])
    scored = list(scoring_remarks((record.name, record, evaluation.scores[split]) for split in matrix.scores))
    step = next(iter(evaluation.scores.values())).origin
    sizes = ", ".join(f"{split} {evaluation.scores[split].sentences:,} sentences" for split in matrix.scores)
    return Document(
        title=f"{record.experiment} at scale {record.scale}, by definition",
        written="Written by `aiayn report matrix` from the hypotheses of the run.",
        grids=[definitions(matrix.scores)],
        remarks=[
            f"run: {evaluation.name}, step {step}; data {record.data}: {sizes}",
            *version_remarks(versions),
            *scored,
            "no two of these definitions compare",
            *matrix.remarks,
        ],
        content=MatrixContent(
            run=evaluation.name,
            data=record.data,
            code=tuple(version.content for version in versions),
            remarks=(*scored, *matrix.remarks),
            scores=matrix.scores,
        ),
    )
