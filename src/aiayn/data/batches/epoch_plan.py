"""The batches of one epoch: a pure function of lengths, budgets, seed and epoch.

A corpus may have tens of millions of pairs, so only the lengths and one int32 order are as long as the corpus; all
other arrays are computed for one block of sentences at a time.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from aiayn.errors import UserError

Lengths: TypeAlias = NDArray[np.integer[Any]]
Indices: TypeAlias = NDArray[np.int64]
Order: TypeAlias = NDArray[np.int32]

BLOCK = 1 << 18
"""Sentences that are sorted at a time."""


@final
class EpochPlan:
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

    def __iter__(self) -> Iterator[Indices]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, position: int) -> Indices:
        batch = self._turns[position]
        return self._order[self._borders[batch] : self._borders[batch + 1]].astype(np.int64)


def plan_epoch(
    source_lengths: Lengths, target_lengths: Lengths, *, source_tokens: int, target_tokens: int, seed: int, epoch: int
) -> EpochPlan:
    """Split a corpus into batches of sentences of similar length (section 5.1), differently in every epoch.

    Every sentence is in exactly one batch. Lengths, `[sentences]`, include the eos. A batch has at most `source_tokens`
    and `target_tokens`, and as many as fit: it ends before the first sentence that would exceed either budget.

    Raises:
        UserError: A single sentence exceeds a budget.
    """
    _check_budget(source_lengths, source_tokens, "source")
    _check_budget(target_lengths, target_tokens, "target")
    rng = np.random.default_rng([seed, epoch])
    order = _order_by_length(source_lengths, target_lengths, source_tokens, target_tokens, rng)
    borders = _borders(order, source_lengths, target_lengths, source_tokens, target_tokens)
    return EpochPlan(order, borders, rng.permutation(len(borders) - 1))


def _borders(
    order: Order, source_lengths: Lengths, target_lengths: Lengths, source_tokens: int, target_tokens: int
) -> Indices:
    """Return the borders of batches in an order of sentences, int64 `[batches + 1]`.

    A batch ends before the first sentence that would exceed either budget.
    """
    most = min(source_tokens, target_tokens)  # sentences of a batch: each has a token
    size = max(BLOCK, most + 1)
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
    sources, targets = (np.cumsum(lengths, dtype=np.int64) for lengths in (source_lengths, target_lengths))
    ends: list[int] = []
    seen = np.zeros(2, np.int64)  # tokens of earlier batches, by side
    while not ends or ends[-1] < len(sources):
        source_end = np.searchsorted(sources, seen[0] + source_tokens, side="right")
        target_end = np.searchsorted(targets, seen[1] + target_tokens, side="right")
        ends.append(int(min(source_end, target_end)))
        seen[:] = sources[ends[-1] - 1], targets[ends[-1] - 1]
    return ends


def _check_budget(lengths: Lengths, budget: int, side: str) -> None:
    longest = int(lengths.max(initial=0))
    if longest > budget:
        raise UserError(
            f"optimization.{side}_tokens={budget} cannot hold the longest {side} sentence of {longest} tokens;"
            " raise it, or lower data.max_length"
        )


def _order_by_length(
    source_lengths: Lengths, target_lengths: Lengths, source_tokens: int, target_tokens: int, rng: np.random.Generator
) -> Order:
    """Order sentences by their longer side, relative to its budget; ties are random.

    So every batch has about the corpus' ratio of source to target tokens, and both its sides are nearly as full as they
    can be together. In an order by both sides, neighbours would be more similar, but only one side would be full.
    """
    assert len(source_lengths) <= np.iinfo(np.int32).max
    shuffled = np.arange(len(source_lengths), dtype=np.int32)
    rng.shuffle(shuffled)

    def longer(sources: Lengths, targets: Lengths) -> Lengths:
        return np.maximum(sources, targets.astype(np.int64) * source_tokens // target_tokens)

    # A stable counting sort over blocks.
    blocks = [shuffled[start : start + BLOCK] for start in range(0, len(shuffled), BLOCK)]
    bins = int(longer(source_lengths.max(initial=0), target_lengths.max(initial=0))) + 1
    keys = (longer(source_lengths[block], target_lengths[block]) for block in blocks)
    counts = np.array([np.bincount(each, minlength=bins) for each in keys], np.int64).reshape(-1, bins)
    # A sentence follows all shorter ones, and those of equal length in earlier blocks: [blocks, bins].
    ends = np.cumsum(counts.T).reshape(bins, -1).T
    order = np.empty_like(shuffled)
    for block, count, end in zip(blocks, counts, ends, strict=True):
        shift = end - np.cumsum(count)  # from the position in the sorted block to that in the order
        places = np.arange(len(block)) + np.repeat(shift, count)
        order[places] = block[_stable_argsort(longer(source_lengths[block], target_lengths[block]))]
    return order


def _stable_argsort(keys: Lengths) -> Indices:
    """Argsort non-negative numbers stably; for 16 bits, numpy uses the faster radix sort."""
    return np.argsort(keys.astype(np.uint16) if keys.max(initial=0) < 1 << 16 else keys, kind="stable")
