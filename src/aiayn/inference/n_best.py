"""N-best lists as JSON, one line for each source."""

import json
import math
from collections.abc import Sequence

from aiayn.data.lines import one_line
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.step import Hypothesis
from aiayn.errors import UserError


def check_n_best(n_best: int | None, *, beam_size: int) -> None:
    """UserError for more hypotheses than the search has beams."""
    if n_best is not None and n_best > beam_size:
        raise UserError(f"n_best={n_best}: must be at most decoding.beam_size={beam_size}")


def n_best_line(number: int, source: str, hypotheses: Sequence[Hypothesis], tokenizer: AnyTokenizer) -> str:
    """The hypotheses of line `number`, best first, as a JSON object; scores are null if no output is possible."""
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
