"""Word frequencies in the training corpus."""

import re
from collections.abc import Callable, Collection
from itertools import islice

from aiayn.data.preparation.prepared import PreparedData

_WORD = re.compile(r"\w+")
_CHUNK = 2_000  # sentences decoded at a time; bounds the memory


def words_of(line: str) -> list[str]:
    """Return the runs of letters and digits in a line."""
    return _WORD.findall(line)


def training_counts(
    data: PreparedData, words: Collection[str], *, advance: Callable[[int], object] = lambda _: None
) -> dict[str, int]:
    """Count words, as of `words_of`, in the target side of the training split, whose token ids are decoded.

    `advance` is called with the number of sentences read since its last call.
    """
    counts = dict.fromkeys(words, 0)
    sentences = iter(data.split("train").target)
    while chunk := list(islice(sentences, _CHUNK)):
        for line in data.tokenizer.decode_batch(ids.tolist() for ids in chunk):
            for word in words_of(line):
                if word in counts:
                    counts[word] += 1
        advance(len(chunk))
    return counts
