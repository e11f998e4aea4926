"""Score outputs by the task of the run: translations by BLEU and chrF, trees by brackets."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.preparation.split_files import PreparedSplit
from aiayn.evaluation.bleu import corpus_bleu, corpus_chrf, sentence_statistics
from aiayn.evaluation.bracket_counts import SentenceBrackets
from aiayn.evaluation.matrix import Translations, quick_matrix
from aiayn.evaluation.score import Score
from aiayn.evaluation.test_sets import on_test_sets
from aiayn.registry import added_task, named
from aiayn.runs.record import RecordedBrackets


@dataclass(frozen=True)
class Quality:
    """The scores of one task; those of the other are None or empty."""

    bleu: Score | None = None
    chrf: Score | None = None
    matrix: dict[str, Score] = field(default_factory=dict)
    brackets: RecordedBrackets | None = None
    sentences: Sequence[tuple[tuple[int, ...], SentenceBrackets | None]] = ()
    """BLEU statistics of each sentence, or its brackets."""


def quality_of(
    data: PreparedData, split: PreparedSplit, outputs: Sequence[str], *, bleu_tokenizer: str, trees: Path
) -> Quality:
    """Score outputs, a line for each sentence of the split; parse trees are also written to the file `trees`."""
    if task := added_task(data.task):
        found: Quality = named(task.quality)(data, split, outputs, trees)
        return found
    return _quality_of_translations(data, split, outputs, bleu_tokenizer)


def _quality_of_translations(
    data: PreparedData, split: PreparedSplit, outputs: Sequence[str], tokenize: str
) -> Quality:
    references = data.references(split)
    statistics = sentence_statistics(outputs, references, tokenize=tokenize)
    scores = {"bleu": corpus_bleu(outputs, references, tokenize=tokenize), "chrf": corpus_chrf(outputs, references)}
    scores |= quick_matrix(
        Translations(outputs, references, data.languages[1], pretokenized=data.pretokenized, stated=tokenize)
    )
    if not data.pretokenized:
        scores |= on_test_sets(
            statistics,
            split.source_lines(),
            references,
            languages=data.languages,
            signature=scores["bleu"].signature,
            normalized=data.tokenizer.normalized,
        )
    if references != split.target_lines():  # told apart from scores against the text as it is
        scores = {name: Score(score.score, f"{score.signature}|refs:nfc") for name, score in scores.items()}
    return Quality(
        bleu=scores.pop("bleu"),
        chrf=scores.pop("chrf"),
        matrix=scores,
        sentences=[(tuple(counts), None) for counts in statistics.tolist()],
    )
