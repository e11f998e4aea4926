"""One shape for all training batches of a run, into which each of them is filled up."""

from typing import NamedTuple

import numpy as np

from aiayn.data.batches.epoch_plan import Lengths

TOKENS_MULTIPLE = 64
"""Of a side's tokens: the products of GPUs are faster than with an odd number of rows."""

_BLOCK = 1 << 18  # pairs


class SideShape(NamedTuple):
    """The sizes of one side of a batch.

    Its `tokens` are those of its own sentences, of empty ones up to `sentences`, and of `fillers` sentences of 1
    to `longest` filler tokens. Both sides have equally many of each, so that every filler token has a source.
    """

    tokens: int
    sentences: int
    fillers: int
    longest: int

    def lengths(self, own: Lengths) -> Lengths:
        """The lengths of all sentences, `[sentences + fillers]`, given those of the batch's own, `[own]`."""
        each, rest = divmod(self.tokens - int(own.sum()), self.fillers)
        assert len(own) <= self.sentences, f"{len(own)} sentences in a shape of {self.sentences}"
        assert 1 <= each <= self.longest - (rest > 0), f"{own.sum()} tokens in a shape of {self.tokens}"
        filled = np.full(self.fillers, each)
        filled[:rest] += 1
        return np.concatenate([own, np.zeros(self.sentences - len(own), np.int64), filled])


def static_shapes(
    source_lengths: Lengths, target_lengths: Lengths, *, source_tokens: int, target_tokens: int, parts: int
) -> tuple[SideShape, SideShape]:
    """The shapes of source and target that hold every micro-batch of a run.

    A global batch is within both budgets, and its `parts` differ by at most one sentence and the tokens of the longest
    one. The lengths, `[pairs]`, are those of the corpus.
    """
    # The largest batch has the shortest sentences of one side.
    most_sentences = min(_max_sentences(source_lengths, source_tokens), _max_sentences(target_lengths, target_tokens))
    sentences = max(1, -(-most_sentences // parts))
    longest = [max(2, int(lengths.max())) for lengths in (source_lengths, target_lengths)]
    # A part with t tokens leaves at least t - most to each other one, and t + (parts - 1) (t - most) to all.
    budgets = source_tokens, target_tokens
    own = [(budget + (parts - 1) * most) // parts for budget, most in zip(budgets, longest, strict=True)]
    # Enough to hold all tokens, also after rounding: fillers * longest >= tokens + fillers + TOKENS_MULTIPLE - 1.
    fillers = max(-(-(most + TOKENS_MULTIPLE - 1) // (each - 1)) for most, each in zip(own, longest, strict=True))
    source, target = (
        SideShape(-(-(most + fillers) // TOKENS_MULTIPLE) * TOKENS_MULTIPLE, sentences, fillers, each)
        for most, each in zip(own, longest, strict=True)
    )
    return source, target


def _max_sentences(lengths: Lengths, budget: int) -> int:
    """The largest number of sentences that have at most `budget` tokens together."""
    counts = np.zeros(budget + 1, np.int64)  # of sentences, by length
    for start in range(0, len(lengths), _BLOCK):
        block = lengths[start : start + _BLOCK]
        counts += np.bincount(block[block <= budget], minlength=len(counts))
    each = np.arange(len(counts))
    whole = np.cumsum(counts * each)  # tokens of all sentences up to a length
    longest = int(np.searchsorted(whole, budget, side="right"))  # of these, not all fit
    if longest == len(counts):
        return int(counts.sum())
    before = int(whole[longest - 1])
    return int(counts[:longest].sum()) + (budget - before) // longest
