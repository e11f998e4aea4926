"""BLEU, chrF and TER by sacreBLEU, on detokenised text, each with its signature."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aiayn.errors import UserError
from aiayn.evaluation.score import Score

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

# sacreBLEU is imported where it is used: most commands import this module and score nothing.

TOKENIZERS = ("13a", "intl", "zh", "char", "none")
"""sacreBLEU's own tokenisations; its others download a model or need a package of another language."""

MAX_ORDER = 4
"""BLEU counts n-grams of 1 to 4 tokens (Papineni et al. 2002)."""


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", lowercase: bool = False
) -> Score:
    """BLEU of a corpus with one reference a sentence.

    Args:
        hypotheses: detokenised outputs.
        references: as many reference translations.
        tokenize: one of `TOKENIZERS`; 13a is what WMT's published scores use.
        lowercase: compare without regard to case.

    Raises:
        UserError: nothing to score, unequal lengths, or an unknown tokenisation.
    """
    _check_lines(hypotheses, references)
    metric = _bleu(tokenize, lowercase)
    score: float = metric.corpus_score(hypotheses, [references]).score
    return Score(score, str(metric.get_signature()))


def corpus_chrf(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, word_order: int = 0
) -> Score:
    """chrF2 of a corpus, the F-score of its character n-grams up to 6; arguments as for `corpus_bleu`.

    With a `word_order` of 2 it counts n-grams of words, too, and is known as chrF2++.
    """
    from sacrebleu.metrics.chrf import CHRF

    _check_lines(hypotheses, references)
    metric = CHRF(lowercase=lowercase, word_order=word_order)
    score: float = metric.corpus_score(hypotheses, [references]).score
    return Score(score, str(metric.get_signature()))


def corpus_ter(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """TER of a corpus: edits and shifts for 100 words of the references, 0 being best; it may exceed 100.

    It takes several times as long as BLEU.
    """
    from sacrebleu.metrics.ter import TER

    _check_lines(hypotheses, references)
    metric = TER()
    score: float = metric.corpus_score(hypotheses, [references]).score
    return Score(score, str(metric.get_signature()))


def sentence_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", lowercase: bool = False
) -> NDArray[np.int64]:
    """BLEU's counts by sentence, int64 [sentences, 10]; arguments as for `corpus_bleu`.

    The columns are the length of the hypothesis, that of the reference, the n-grams of order 1 to 4 that match, and
    those that the hypothesis has. Rows add up: the BLEU of any selection follows from their sum.
    """
    _check_lines(hypotheses, references)
    metric = _bleu(tokenize, lowercase)
    metric.effective_order = True  # of no effect on the counts; without it sacreBLEU warns at every sentence
    scores = (
        metric.sentence_score(hypothesis, [line]) for hypothesis, line in zip(hypotheses, references, strict=True)
    )
    return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in scores], dtype=np.int64)


def bleu_from_statistics(statistics: NDArray[np.int64]) -> float:
    """BLEU, 0 to 100, of the sentences whose `sentence_statistics` these are, int64 [sentences, 10]."""
    return _score(statistics.sum(axis=0).tolist(), effective_order=False)


def sentence_bleu(statistics: Sequence[int]) -> float:
    """BLEU, 0 to 100, of one sentence by its row of `sentence_statistics`, as sacreBLEU scores single sentences.

    Orders that the hypothesis is too short for are left out of the mean; no corpus score follows from these.
    """
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
    """The metric with its default smoothing."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in TOKENIZERS:
        raise UserError(f"BLEU tokenisation {tokenize!r}: must be one of {', '.join(TOKENIZERS)}")
    # force: text that looks tokenised is scored as it is; the warning would land between a command's lines of output.
    return BLEU(lowercase=lowercase, tokenize=tokenize, force=True, max_ngram_order=MAX_ORDER)


def _check_lines(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if not hypotheses:
        raise UserError("no hypotheses to score: the list is empty")
    if len(hypotheses) != len(references):
        msg = f"{len(hypotheses)} hypotheses for {len(references)} references: give one of each per sentence"
        raise UserError(msg)
