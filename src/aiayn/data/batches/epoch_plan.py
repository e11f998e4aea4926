"""The batches of one epoch: a pure function of lengths, budgets, seed and epoch.

A corpus may have tens of millions of pairs, so only the lengths and one int32 order are as long as the corpus; all
other arrays are computed for one block of sentences at a time.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias, final, overload

import numpy as np
from numpy.typing import NDArray

from aiayn.errors import UserError

Lengths: TypeAlias = NDArray[np.integer[Any]]
Indices: TypeAlias = NDArray[np.int64]
Order: TypeAlias = NDArray[np.int32]

_BLOCK = 1 << 18  # sentences


@final
class EpochPlan(Sequence[Indices]):
    """The sentence indices of each batch, int64 `[batch]`, in training order.

    Args:
        order: All sentences, batch by batch: int32 `[sentences]`.
        borders: Start of each batch in `order`, and the end: int64 `[batches + 1]`.
        turns: Training order of the batches: int64 `[batches]`.
    """

    def __init__(self, order: Order, borders: Indices, turns: Indices) -> None:
        self._order, self._borders, self._turns = order, borders, turns

    def __len__(self) -> int:
        return len(self._turns)

    @overload
    def __getitem__(self, position: int) -> Indices: ...
    @overload
    def __getitem__(self, position: slice) -> list[Indices]: ...
    def __getitem__(self, position: int | slice) -> Indices | list[Indices]:
        if isinstance(position, slice):
            return [self[each] for each in range(len(self))[position]]
        batch = self._turns[position]
        return self._order[self._borders[batch] : self._borders[batch + 1]].astype(np.int64)


def plan_epoch(
    source_lengths: Lengths, target_lengths: Lengths, *, source_tokens: int, target_tokens: int, seed: int, epoch: int
) -> EpochPlan:
    """Split a corpus into batches of sentences of similar length (section 5.1), differently in every epoch.

    Every sentence is in exactly one batch. Lengths, `[sentences]`, include the eos. The budgets `source_tokens` and
    `target_tokens` of a batch include padding.

    Raises:
        UserError: A single sentence exceeds a budget.
    """
    _check_budget(source_lengths, source_tokens, "source")
    _check_budget(target_lengths, target_tokens, "target")
    rng = np.random.default_rng([seed, epoch])
    order = _bucketed_order(source_lengths, target_lengths, source_tokens, target_tokens, rng)
    borders = batch_borders(order, source_lengths, target_lengths, source_tokens, target_tokens)
    return EpochPlan(order, borders, rng.permutation(len(borders) - 1))


def batch_borders(
    order: Order | Indices, source_lengths: Lengths, target_lengths: Lengths, source_tokens: int, target_tokens: int
) -> Indices:
    """Return the borders of batches in an order of sentences, int64 `[batches + 1]`.

    Each is as large as the budgets of padded tokens allow; a sentence over a budget is a batch of its own.
    """
    most = min(source_tokens, target_tokens)  # sentences of a batch: each has a token
    size = max(_BLOCK, most + 1)
    borders = [0]
    while (start := borders[-1]) < len(order):
        block = order[start : start + size]
        ends = _cut(source_lengths[block], target_lengths[block], source_tokens, target_tokens)
        if start + size < len(order):
            ends.pop()  # the last batch may continue in the next block, which starts with it
        borders += [start + end for end in ends]
    return np.array(borders, np.int64)


def _cut(source_lengths: Lengths, target_lengths: Lengths, source_tokens: int, target_tokens: int) -> list[int]:
    """Return the end of each batch of a block."""
    sources, targets = source_lengths.astype(np.int64), target_lengths.astype(np.int64)
    ends = []
    start = 0
    while start < len(sources):
        # The first sentence alone bounds the number of sentences of the batch.
        most = max(1, min(source_tokens // int(sources[start]), target_tokens // int(targets[start])))
        window = slice(start, start + most)
        sizes = np.arange(1, len(sources[window]) + 1)
        fits = np.maximum.accumulate(sources[window]) * sizes <= source_tokens
        fits &= np.maximum.accumulate(targets[window]) * sizes <= target_tokens
        start += max(1, int(np.count_nonzero(fits)))
        ends.append(start)
    return ends


def _check_budget(lengths: Lengths, budget: int, side: str) -> None:
    longest = int(lengths.max(initial=0))
    if longest > budget:
        raise UserError(
            f"optimization.{side}_tokens={budget} cannot hold the longest {side} sentence of {longest} tokens;"
            " raise it, or lower data.max_length"
        )


def _bucketed_order(
    source_lengths: Lengths, target_lengths: Lengths, source_tokens: int, target_tokens: int, rng: np.random.Generator
) -> Order:
    """Order sentences so that neighbours have similar lengths on both sides; ties are random.

    Sentences sorted by source length are split into bands of equally many tokens, and each band is sorted by target
    length, alternately ascending and descending. For B batches there are sqrt(2 B) bands: more bands pad targets more,
    fewer bands pad sources more.
    """
    assert len(source_lengths) <= np.iinfo(np.int32).max
    shuffled = np.arange(len(source_lengths), dtype=np.int32)
    rng.shuffle(shuffled)
    order = _sorted_by(source_lengths, shuffled)
    batches = max(source_lengths.sum() / source_tokens, target_lengths.sum() / target_tokens)
    bands = max(1, round((2 * batches) ** 0.5))
    borders = [*_band_borders(order, source_lengths, target_lengths, bands), len(order)]
    for band, (start, end) in enumerate(pairwise(borders)):
        members = order[start:end]
        lengths = target_lengths[members]
        ranks = lengths if band % 2 == 0 else lengths.max(initial=0) - lengths
        order[start:end] = members[_stable_argsort(ranks)]
    return order


def _sorted_by(lengths: Lengths, order: Order) -> Order:
    """Sort an order by length, stably: a counting sort over blocks."""
    blocks = range(0, len(order), _BLOCK)
    bins = int(lengths.max(initial=0)) + 1
    counts = np.array([np.bincount(lengths[order[block : block + _BLOCK]], minlength=bins) for block in blocks])
    # A sentence follows all shorter ones, and those of equal length in earlier blocks: [blocks, bins].
    ends = np.cumsum(counts.T.reshape(-1)).reshape(counts.shape[::-1]).T if len(blocks) else counts
    result = np.empty_like(order)
    for block, count, end in zip(blocks, counts, ends, strict=True):
        members = order[block : block + _BLOCK]
        shift = end - np.cumsum(count)  # from the position in the sorted block to that in the result
        places = np.arange(len(members)) + np.repeat(shift, count)
        result[places] = members[_stable_argsort(lengths[members])]
    return result


def _stable_argsort(keys: Lengths) -> Indices:
    """Argsort non-negative numbers stably; for 16 bits, numpy uses the faster radix sort."""
    return np.argsort(keys.astype(np.uint16) if keys.max(initial=0) < 1 << 16 else keys, kind="stable")


def _band_borders(order: Order, source_lengths: Lengths, target_lengths: Lengths, bands: int) -> list[int]:
    """Return the start of each band: all tokens are divided equally, and a sentence belongs where it ends."""
    total = int(source_lengths.sum()) + int(target_lengths.sum())
    first_tokens = 1 + -(-np.arange(bands) * total // bands)
    borders: list[int] = []
    tokens = 0
    for block in range(0, len(order), _BLOCK):
        members = order[block : block + _BLOCK]
        ends = tokens + np.cumsum(source_lengths[members].astype(np.int64) + target_lengths[members])
        tokens = int(ends[-1])
        reached = np.searchsorted(first_tokens, tokens, side="right")
        borders += (block + np.searchsorted(ends, first_tokens[len(borders) : reached])).tolist()
    return borders
