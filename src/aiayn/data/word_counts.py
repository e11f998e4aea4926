"""How often the training corpus has words."""

import re
from collections.abc import Callable, Collection

from aiayn.data.preparation.prepared import PreparedData

_WORD = re.compile(r"\w+")
_CHUNK = 2_000  # sentences decoded at a time; bounds the memory


def words_of(line: str) -> list[str]:
    """The runs of letters and digits in a line, in order, as they are written."""
    return _WORD.findall(line)


def training_counts(
    data: PreparedData, words: Collection[str], *, advance: Callable[[int], object] = lambda _: None
) -> dict[str, int]:
    """How often the target side of the training split has each of these words.

    Raw training text is not kept, so the tokens are decoded; the time grows with the corpus, the memory does not.

    Args:
        data: the prepared corpus.
        words: of `words_of`.
        advance: told how many sentences were read.
    """
    counts = dict.fromkeys(words, 0)
    sentences = data.split("train").target
    for start in range(0, len(sentences), _CHUNK):
        chunk = range(start, min(start + _CHUNK, len(sentences)))
        for line in data.tokenizer.decode_batch(sentences[number].tolist() for number in chunk):
            for word in words_of(line):
                if word in counts:
                    counts[word] += 1
        advance(len(chunk))
    return counts
