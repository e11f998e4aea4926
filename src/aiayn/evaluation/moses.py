"""Moses' tokenisation, compound splitting, and the BLEU of multi-bleu.perl.

Papers up to 2017 report BLEU on such tokens. tensor2tensor's get_ende_bleu.sh also splits compounds at their hyphens;
each split hyphen is a token that almost always matches, so scores rise.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

MAX_ORDER = 4

_HYPHEN = re.compile(r"(\S)-(\S)")
_LOW_QUOTE = "„"


def tokenized(lines: Iterable[str], language: str) -> list[str]:
    """Moses' tokens of detokenised lines, separated by single spaces, by sacremoses' port of tokenizer.perl.

    Args:
        lines: detokenised text.
        language: ISO 639-1 code; unknown codes are treated as English.
    """
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(lang=language)
    return [str(tokenizer.tokenize(line, return_str=True)) for line in lines]


def detokenized(lines: Iterable[str], language: str) -> list[str]:
    """Plain text of lines of Moses' tokens, by sacremoses' port of detokenizer.perl; escapes and splits are undone.

    Args:
        lines: tokens separated by spaces.
        language: ISO 639-1 code; unknown codes are treated as English.
    """
    from sacremoses import MosesDetokenizer

    detokenizer = MosesDetokenizer(lang=language)
    return [str(detokenizer.detokenize(line.split(" "))) for line in lines]


def quotes_normalized(lines: Iterable[str]) -> list[str]:
    """Typographic quotes and other punctuation as ASCII: replace-unicode-punctuation.perl, and „ besides."""
    from sacremoses import MosesPunctNormalizer

    normalizer = MosesPunctNormalizer()
    return [str(normalizer.replace_unicode_punct(line)).replace(_LOW_QUOTE, '"') for line in lines]


def compounds_split(line: str) -> str:
    """Hyphens within words as tokens, as in "rich ##AT##-##AT## text"; of a-b-c only the first, as in the script."""
    return _HYPHEN.sub(r"\1 ##AT##-##AT## \2", line)


def multi_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """BLEU, 0 to 100, of as many lines of tokens separated by spaces, without smoothing: 0 if an order has no match."""
    matches, totals = [0] * MAX_ORDER, [0] * MAX_ORDER
    hypothesis_length = reference_length = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        words, expected = ([word for word in line.split(" ") if word] for line in (hypothesis, reference))
        hypothesis_length += len(words)
        reference_length += len(expected)
        for order in range(MAX_ORDER):
            found = _ngrams(words, order + 1)
            totals[order] += found.total()
            matches[order] += (found & _ngrams(expected, order + 1)).total()
    if not all(matches):
        return 0.0
    precision = sum(math.log(match / total) for match, total in zip(matches, totals, strict=True)) / MAX_ORDER
    return 100 * math.exp(precision + min(0.0, 1 - reference_length / hypothesis_length))


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))
