"""Sample translations of a run: its worst, its middling and its best sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from aiayn.data.lines import file_lines
from aiayn.data.preparation.prepared import PreparedData, find_prepared
from aiayn.errors import UserError
from aiayn.evaluation.bleu import sentence_bleu
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record

SPLIT = "dev"
"""The split that Table 3 is about."""

EACH = 3
"""Sentences of each kind."""


class Kind(StrEnum):
    """The rank of a sentence among all of the split."""

    worst = "worst"
    median = "median"
    best = "best"


@dataclass(frozen=True)
class Sample:
    """One sentence."""

    kind: Kind
    number: int
    """Its line in the split, from 1."""
    score: float
    """Its sentence BLEU, or the F1 of its brackets where trees are scored; 0 to 100."""
    source: str
    reference: str
    hypothesis: str
    score_name: str = "BLEU"


class Texts:
    """The sources and references of corpora, found in caches by fingerprint and kept."""

    def __init__(self, cache: Path) -> None:
        """With the cache to look in first; runs know of theirs too."""
        self._cache = cache
        self._found: dict[str, PreparedData] = {}

    def of(self, fingerprint: str, own_cache: Path) -> PreparedData | None:
        """The corpus of a fingerprint; None where neither cache holds it whole."""
        if fingerprint not in self._found:
            data = find_prepared(self._cache, fingerprint) or find_prepared(own_cache, fingerprint)
            if data is None:
                return None
            self._found[fingerprint] = data
        return self._found[fingerprint]


def read_samples(directory: RunDirectory, record: Record, data: PreparedData) -> tuple[Sample, ...]:
    """The worst, median and best sentences of a run on dev, by sentence BLEU or F1.

    Args:
        directory: of the run.
        record: with scores on dev.
        data: its corpus.

    Raises:
        UserError: the run's files are missing or damaged, or do not belong to the corpus.
    """
    path = directory.path / record.scores[SPLIT].hypotheses
    hypotheses = list(file_lines(path, "hypotheses"))
    rows = read_sentence_scores(path.with_name(f"{SPLIT}.sentences.jsonl"))
    split = data.split("dev", limit=len(rows))
    if not len(rows) == len(hypotheses) == len(split):
        raise UserError(
            f"{path}: {len(hypotheses)} sentences where there are {len(rows)} scores; evaluate the run again"
        )
    sources, references = split.source_lines(), split.target_lines()
    scores = [sentence_bleu(row.bleu_statistics) if row.brackets is None else row.brackets.scores.f1 for row in rows]
    name = "BLEU" if all(row.brackets is None for row in rows) else "F1"
    # Of equal scores the longer sentence is the better one: long and right is more than short and right.
    order = sorted(range(len(rows)), key=lambda place: (scores[place], rows[place].tokens, -place))
    return tuple(
        Sample(kind, place + 1, scores[place], sources[place], references[place], hypotheses[place], name)
        for kind, places in chosen(order).items()
        for place in places
    )


def chosen(order: Sequence[int]) -> dict[Kind, Sequence[int]]:
    """Of sentences from worst to best some of each kind; none twice."""
    each = min(EACH, len(order) // len(Kind)) or 1
    middle = (len(order) - each) // 2
    found = {Kind.worst: order[:each], Kind.median: order[middle : middle + each], Kind.best: order[::-1][:each]}
    if len(order) < len(Kind):  # nothing lies between
        del found[Kind.median]
    if len(order) < 2:
        del found[Kind.worst]
    return found
