"""One sentence's scores on disk, so that two systems can be compared sentence by sentence later."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from aiayn.errors import UserError
from aiayn.evaluation.bleu import STATISTICS, sentence_bleu
from aiayn.evaluation.bracket_counts import SentenceBrackets
from aiayn.system import files
from aiayn.system.documents import NullIsInfinity, parse_as


@dataclass(frozen=True)
class SentenceScores:
    """Counts that one sentence adds to the scores of its corpus."""

    nll: Annotated[float, NullIsInfinity]
    """Negative log-likelihood of the reference without label smoothing, in nats, summed over its tokens."""
    tokens: int
    """Tokens of the reference, eos included."""
    source_tokens: int
    """Tokens of the source, eos included."""
    bleu_statistics: tuple[int, ...] = ()
    """One row of `aiayn.evaluation.bleu.sentence_statistics`; empty where trees are scored."""
    brackets: SentenceBrackets | None = None
    """None where no trees are scored."""

    def __post_init__(self) -> None:
        if self.tokens < 1 or self.source_tokens < 0 or min(self.bleu_statistics, default=0) < 0:
            raise ValueError("tokens and counts must not be negative, nor tokens 0")
        if len(self.bleu_statistics) != (STATISTICS if self.brackets is None else 0):
            raise ValueError(f"must have {STATISTICS} bleu_statistics, or brackets")


def sentence_quality(row: SentenceScores) -> float:
    """The BLEU of one sentence, or the F1 of its brackets where trees are scored; 0 to 100."""
    return sentence_bleu(row.bleu_statistics) if row.brackets is None else row.brackets.scores.f1


def write_sentence_scores(path: Path, rows: Iterable[SentenceScores]) -> None:
    """Write one JSON object a line, atomically; an infinite or unknown likelihood is written as null."""
    files.write_text(path, "".join(json.dumps(_fields(row), allow_nan=False) + "\n" for row in rows))


def _fields(row: SentenceScores) -> dict[str, Any]:
    fields = asdict(row)
    del fields["brackets" if row.brackets is None else "bleu_statistics"]
    return fields if math.isfinite(row.nll) else fields | {"nll": None}


EVALUATE_AGAIN = "evaluate the run again"
"""The remedy for a damaged file of one's own run."""


def read_sentence_scores(path: Path, *, remedy: str = EVALUATE_AGAIN) -> list[SentenceScores]:
    """The rows of a file; errors name the remedy.

    Raises:
        UserError: the file is missing, or a line of it is not a sentence's scores.
    """
    try:
        lines = files.read_text(path).splitlines()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; evaluate the run to write its sentence scores") from None
    return [parse_as(SentenceScores, line, f"{path}:{number}", remedy=remedy) for number, line in enumerate(lines, 1)]
