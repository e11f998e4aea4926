"""BLEU, chrF and TER by sacreBLEU, on detokenised text, each with its signature."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aiayn.errors import UserError
from aiayn.evaluation.score import Score

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU

# sacreBLEU is imported where it is used: most commands import this module and score nothing.

MAX_ORDER = 4

STATISTICS = 2 + 2 * MAX_ORDER
"""Counts of one sentence: lengths of hypothesis and reference, n-grams that match, n-grams of the hypothesis."""
"""BLEU counts n-grams of 1 to 4 tokens (Papineni et al. 2002)."""


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", lowercase: bool = False
) -> Score:
    """BLEU of a corpus of detokenised hypotheses with one reference each.

    Args:
        hypotheses: detokenised outputs.
        references: one for each.
        tokenize: as in sacreBLEU; WMT's published scores use 13a.
        lowercase: whether case is ignored.

    Raises:
        UserError: nothing to score, or unequal lengths.
    """
    return _corpus_score(_bleu(tokenize, lowercase), hypotheses, references)


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[str], *, word_order: int = 0) -> Score:
    """chrF2 of a corpus, the F-score of its character n-grams up to 6; with n-grams of 2 words chrF2++."""
    from sacrebleu.metrics.chrf import CHRF

    return _corpus_score(CHRF(word_order=word_order), hypotheses, references)


def corpus_ter(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """TER of a corpus: edits and shifts for 100 words of the references; several times slower than BLEU."""
    from sacrebleu.metrics.ter import TER

    return _corpus_score(TER(), hypotheses, references)


def _corpus_score(metric: "Metric", hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    _check_lines(hypotheses, references)
    return Score(float(metric.corpus_score(hypotheses, [references]).score), str(metric.get_signature()))


def sentence_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a"
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


def _bleu(tokenize: str, lowercase: bool) -> "BLEU":
    from sacrebleu.metrics.bleu import BLEU

    # force: no warning about text that looks tokenised
    return BLEU(lowercase=lowercase, tokenize=tokenize, force=True, max_ngram_order=MAX_ORDER)


def _check_lines(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if not hypotheses:
        raise UserError("no hypotheses to score: the list is empty")
    if len(hypotheses) != len(references):
        msg = f"{len(hypotheses)} hypotheses for {len(references)} references: give one of each per sentence"
        raise UserError(msg)
