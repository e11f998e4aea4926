"""One sentence's scores on disk, so that two systems can be compared sentence by sentence later."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aiayn.errors import UserError
from aiayn.evaluation.bleu import sentence_bleu
from aiayn.evaluation.brackets import BracketScores, SentenceBrackets
from aiayn.system import files


@dataclass(frozen=True)
class SentenceScores:
    """Counts that one sentence adds to the scores of its corpus."""

    nll: float
    """Negative log-likelihood of the reference without label smoothing, in nats, summed over its tokens."""
    tokens: int
    """Tokens of the reference, eos included."""
    bleu_statistics: tuple[int, ...]
    """One row of `aiayn.evaluation.bleu.sentence_statistics`; empty where trees are scored."""
    source_tokens: int
    """Tokens of the source, eos included."""
    brackets: SentenceBrackets | None = None
    """None where no trees are scored."""


def sentence_quality(row: SentenceScores) -> float:
    """The BLEU of one sentence, or the F1 of its brackets where trees are scored; 0 to 100."""
    return sentence_bleu(row.bleu_statistics) if row.brackets is None else row.brackets.scores.f1


def write_sentence_scores(path: Path, rows: Iterable[SentenceScores]) -> None:
    """Write one JSON object a line, atomically."""
    files.write_text(path, "".join(json.dumps(_fields(row)) + "\n" for row in rows))


def _fields(row: SentenceScores) -> dict[str, Any]:
    fields = asdict(row)
    del fields["brackets" if row.brackets is None else "bleu_statistics"]
    return fields


EVALUATE_AGAIN = "evaluate the run again"
"""The remedy for a damaged file of one's own run."""


def read_sentence_scores(path: Path, *, remedy: str = EVALUATE_AGAIN) -> list[SentenceScores]:
    """The rows of a file; errors name the remedy.

    Raises:
        UserError: the file is missing, or a line of it is not a sentence's scores.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; evaluate the run to write its sentence scores") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not the scores of sentences ({error}); {remedy}") from None
    return [_parse(line, f"{path}:{number}", remedy) for number, line in enumerate(lines, start=1)]


def _parse(line: str, place: str, remedy: str) -> SentenceScores:
    try:
        fields = json.loads(line)
        brackets = fields.get("brackets")
        if brackets is not None:
            brackets = SentenceBrackets(int(brackets["length"]), BracketScores(**brackets["scores"]))
        return SentenceScores(
            nll=float(fields["nll"]),
            tokens=int(fields["tokens"]),
            bleu_statistics=() if brackets else tuple(map(int, fields["bleu_statistics"])),
            source_tokens=int(fields["source_tokens"]),
            brackets=brackets,
        )
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        msg = f"{place}: not a sentence's scores ({type(error).__name__}: {error}); {remedy}"
        raise UserError(msg) from error
