"""N-best lists as JSON, one line for each source."""

import json
import math
from collections.abc import Sequence

from aiayn.data.lines import one_line
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.step import Hypothesis
from aiayn.errors import UserError


def check_n_best(n_best: int | None, *, beam_size: int) -> None:
    """Raise UserError where more hypotheses are requested than the search has beams."""
    if n_best is not None and not 1 <= n_best <= beam_size:
        raise UserError(f"n_best={n_best}: must be from 1 to decoding.beam_size={beam_size}")


def n_best_line(number: int, source: str, hypotheses: Sequence[Hypothesis], tokenizer: AnyTokenizer) -> str:
    """The hypotheses of one source, best first, as a JSON object; docs/translate.md describes it.

    Args:
        number: of the line, from 1.
        source: as it was read.
        hypotheses: scores are null where the model allows no output at all.
        tokenizer: of the model.
    """
    described = []
    for hypothesis in hypotheses:
        is_possible = hypothesis.log_probability > -math.inf
        described.append(
            {
                "text": one_line(tokenizer.decode(hypothesis.tokens)),
                "score": hypothesis.score if is_possible else None,
                "log_probability": hypothesis.log_probability if is_possible else None,
                "tokens": hypothesis.length,
            }
        )
    return json.dumps({"line": number, "source": source, "hypotheses": described}, ensure_ascii=False)
