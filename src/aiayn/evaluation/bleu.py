"""BLEU, chrF and TER by sacreBLEU, on detokenised text, each with its signature."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aiayn.errors import UserError
from aiayn.evaluation.score import Score
from aiayn.evaluation.tokenization import DEFAULT, EXTRAS, characters_apart, is_by_character

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU

# sacreBLEU is imported where it is used: most commands import this module and score nothing.

MAX_ORDER = 4

STATISTICS = 2 + 2 * MAX_ORDER
"""Counts of one sentence: lengths of hypothesis and reference, n-grams that match, n-grams of the hypothesis."""
"""BLEU counts n-grams of 1 to 4 tokens (Papineni et al. 2002)."""


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = DEFAULT, lowercase: bool = False
) -> Score:
    """BLEU of a corpus of detokenised hypotheses with one reference each.

    Args:
        hypotheses: detokenised outputs.
        references: one for each.
        tokenize: as in sacreBLEU; WMT's published scores use 13a. See `aiayn.evaluation.tokenization`.
        lowercase: whether case is ignored.

    Raises:
        UserError: nothing to score, unequal lengths, or the tokenizer is not installed.
    """
    return _corpus_score(_bleu(tokenize, lowercase), hypotheses, references)


def corpus_chrf(
    hypotheses: Sequence[str], references: Sequence[str], *, word_order: int = 0, tokenize: str = DEFAULT
) -> Score:
    """chrF2 of a corpus, the F-score of its character n-grams up to 6; with n-grams of 2 words chrF2++.

    Words are characters where `tokenize`, the tokenizer of BLEU, is one for text without spaces.
    """
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF(word_order=word_order)
    return _word_score(metric, hypotheses, references, is_by_character(tokenize) and word_order > 0)


def corpus_ter(hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = DEFAULT) -> Score:
    """TER of a corpus: edits and shifts for 100 words of the references; several times slower than BLEU.

    Words are characters where `tokenize`, the tokenizer of BLEU, is one for text without spaces.
    """
    from sacrebleu.metrics.ter import TER

    return _word_score(TER(), hypotheses, references, is_by_character(tokenize))


def _word_score(metric: "Metric", hypotheses: Sequence[str], references: Sequence[str], by_character: bool) -> Score:
    """A score of words, or of characters, which its signature then states."""
    if not by_character:
        return _corpus_score(metric, hypotheses, references)
    score = _corpus_score(metric, characters_apart(hypotheses), characters_apart(references))
    return Score(score.score, f"{score.signature.replace('tok:tercom|', '')}|tok:char")


def _corpus_score(metric: "Metric", hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    _check_lines(hypotheses, references)
    return Score(float(metric.corpus_score(hypotheses, [references]).score), str(metric.get_signature()))


def sentence_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = DEFAULT
) -> NDArray[np.int64]:
    """BLEU's counts by sentence, int64 [sentences, 10]; arguments as for `corpus_bleu`.

    The columns are the lengths of hypothesis and reference, the matching n-grams of order 1 to 4, and the hypothesis's
    n-grams. Rows add up: the BLEU of any selection follows from their sum.
    """
    _check_lines(hypotheses, references)
    metric = _bleu(tokenize, lowercase=False)
    metric.effective_order = True  # of no effect on the counts; without it sacreBLEU warns at every sentence
    scores = (
        metric.sentence_score(hypothesis, [line]) for hypothesis, line in zip(hypotheses, references, strict=True)
    )
    return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in scores], dtype=np.int64)


def bleu_from_statistics(statistics: NDArray[np.int64]) -> float:
    """BLEU, 0 to 100, from `sentence_statistics`, int64 [sentences, 10]."""
    return _score(statistics.sum(axis=0).tolist(), effective_order=False)


def sentence_bleu(statistics: Sequence[int]) -> float:
    """BLEU, 0 to 100, of one row of `sentence_statistics`; orders that the hypothesis is too short for do not count."""
    return _score(statistics, effective_order=True)


def _score(statistics: Sequence[int], *, effective_order: bool) -> float:
    from sacrebleu.metrics.bleu import BLEU

    hypothesis_length, reference_length, *counts = statistics
    score: float = BLEU.compute_bleu(
        correct=counts[:MAX_ORDER],
        total=counts[MAX_ORDER:],
        sys_len=hypothesis_length,
        ref_len=reference_length,
        smooth_method="exp",
        effective_order=effective_order,
    ).score
    return score


def check_tokenizer(tokenize: str) -> None:
    """Raise a UserError if a tokenizer of BLEU is not installed."""
    if tokenize in EXTRAS:
        _bleu(tokenize, lowercase=False)


def _bleu(tokenize: str, lowercase: bool) -> "BLEU":
    from sacrebleu.metrics.bleu import BLEU

    try:
        # force: no warning about text that looks tokenised
        return BLEU(lowercase=lowercase, tokenize=tokenize, force=True, max_ngram_order=MAX_ORDER)
    except (RuntimeError, ImportError):  # sacreBLEU's, where MeCab or its dictionary is missing
        if tokenize not in EXTRAS:
            raise
        raise UserError(
            f"decoding.bleu_tokenizer={tokenize}: MeCab and its dictionary of this language are not installed: "
            f'pip install -e ".[{EXTRAS[tokenize]}]", or state decoding.bleu_tokenizer=char'
        ) from None


DOUBTFUL_BLEU, DOUBTFUL_CHRF = 2, 35
"""BLEU below and chrF above which both cannot be right: many characters match, and hardly a word."""


def doubt(bleu: Score | None, chrf: Score | None) -> str | None:
    """Return a remark if BLEU is about 0 beside a high chrF, as where its tokenizer does not fit the language."""
    if bleu is None or chrf is None or bleu.score >= DOUBTFUL_BLEU or chrf.score <= DOUBTFUL_CHRF:
        return None
    return (
        f"BLEU {bleu.score:.2f} beside chrF {chrf.score:.1f}: the tokenizer of BLEU does not fit this text "
        f"({bleu.signature}); state data.target_language as ISO 639 has it, or decoding.bleu_tokenizer=char"
    )


def _check_lines(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if not hypotheses:
        raise UserError("no hypotheses to score: the list is empty")
    if len(hypotheses) != len(references):
        msg = f"{len(hypotheses)} hypotheses for {len(references)} references: give one of each per sentence"
        raise UserError(msg)
