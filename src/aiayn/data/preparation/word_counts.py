"""Word frequencies in the training corpus."""

from collections.abc import Callable, Collection
from itertools import islice

from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.words import words_of

_CHUNK = 2_000  # sentences decoded at a time; bounds the memory


def training_counts(
    data: PreparedData,
    words: Collection[str],
    *,
    split: Callable[[str], list[str]] = words_of,
    advance: Callable[[int], object] = lambda _: None,
) -> dict[str, int]:
    """Count words, as `split` has them, in the target side of the training split, whose token ids are decoded.

    `advance` is called with the number of sentences read since its last call.
    """
    counts = dict.fromkeys(words, 0)
    sentences = iter(data.split("train").target)
    while chunk := list(islice(sentences, _CHUNK)):
        for line in data.tokenizer.decode_batch(ids.tolist() for ids in chunk):
            for word in split(line):
                if word in counts:
                    counts[word] += 1
        advance(len(chunk))
    return counts
