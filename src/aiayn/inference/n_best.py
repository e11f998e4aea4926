"""Lists of the best hypotheses as JSON, one line for each source."""

import json
import math
from collections.abc import Sequence

from aiayn.data.lines import one_line
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.step import Hypothesis
from aiayn.errors import UserError


def refuse_n_best(n_best: int | None, *, beam_size: int) -> None:
    """Refuse more hypotheses than a search has beams.

    Raises:
        UserError: naming both.
    """
    if n_best is not None and not 1 <= n_best <= beam_size:
        raise UserError(f"n_best={n_best}: must be from 1 to decoding.beam_size={beam_size}")


def n_best_line(number: int, source: str, hypotheses: Sequence[Hypothesis], tokenizer: AnyTokenizer) -> str:
    """The hypotheses of one source as a JSON object; docs/translate.md describes it.

    Args:
        number: of the line, from 1.
        source: as it was read.
        hypotheses: best first.
        tokenizer: of the model.
    """
    described = [_described(hypothesis, tokenizer) for hypothesis in hypotheses]
    return json.dumps({"line": number, "source": source, "hypotheses": described}, ensure_ascii=False)


def _described(hypothesis: Hypothesis, tokenizer: AnyTokenizer) -> dict[str, str | float | int | None]:
    """A hypothesis with its scores: null where the model allowed no output at all."""
    possible = hypothesis.log_probability > -math.inf
    return {
        "text": one_line(tokenizer.decode(hypothesis.tokens)),
        "score": hypothesis.score if possible else None,
        "log_probability": hypothesis.log_probability if possible else None,
        "tokens": hypothesis.length,
    }
