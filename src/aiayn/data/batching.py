"""Which sentences make an optimizer step, and which of them a rank sees: pure functions of lengths and seed.

A batch is global: it belongs to one optimizer step, whatever the number of ranks and accumulations that share it.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from aiayn.config.errors import UserError
from aiayn.data.collation import TranslationBatch, collate
from aiayn.data.sentences import SentencePairs

Lengths: TypeAlias = NDArray[np.integer[Any]]
Indices: TypeAlias = NDArray[np.int64]


def plan_epoch(
    source_lengths: Lengths, target_lengths: Lengths, *, source_tokens: int, target_tokens: int, seed: int, epoch: int
) -> list[Indices]:
    """Cut one pass over a corpus into batches of about equal length (section 5.1), in a new way every epoch.

    Args:
        source_lengths: tokens of each source sentence, eos included, `[sentences]`.
        target_lengths: tokens of each target sentence, eos included, `[sentences]`.
        source_tokens: most source tokens of a batch, padding included.
        target_tokens: most target tokens of a batch, padding included.
        seed: with `epoch`, decides everything random here.
        epoch: which pass, from 0.

    Returns:
        The sentence numbers of each batch; every sentence is in exactly one.

    Raises:
        UserError: one sentence alone is over a budget.
    """
    _refuse_oversize(source_lengths, source_tokens, "source")
    _refuse_oversize(target_lengths, target_tokens, "target")
    if not len(source_lengths):
        return []
    rng = np.random.default_rng([seed, epoch])
    order = _bucketed_order(source_lengths, target_lengths, source_tokens, target_tokens, rng)
    batches = _cut(order, source_lengths, target_lengths, source_tokens, target_tokens)
    return [batches[position] for position in rng.permutation(len(batches))]


def micro_batches(batch: Indices, source_lengths: Lengths, target_lengths: Lengths, *, parts: int) -> list[Indices]:
    """Cut one global batch into micro-batches that cost about the same, padding included.

    For `world_size` ranks and A accumulations, `parts` is their product and part `a * world_size + rank` is what a rank
    sees in accumulation a: the optimizer step covers the same sentences in every such shape.

    Returns:
        Exactly `parts` arrays, together the batch; some are empty only where there are fewer sentences than parts.
    """
    tokens = source_lengths[batch].astype(np.int64) + target_lengths[batch]
    longest_first = np.argsort(-tokens, kind="stable")
    batch, tokens = batch[longest_first], tokens[longest_first]
    starts = _even_starts(tokens.tolist(), parts)
    return [batch[start:end] for start, end in zip(starts, [*starts[1:], len(batch)], strict=True)]


def evaluation_batches(source_lengths: Lengths, target_lengths: Lengths, *, tokens: int) -> list[Indices]:
    """Cut a split into batches of at most `tokens` padded tokens a side, longest first.

    Every sentence is in exactly one batch; a sentence over the budget is a batch of its own. Rank r of W takes
    `batches[r::W]`.
    """
    order = np.lexsort((target_lengths, source_lengths))[::-1].astype(np.int64)
    return _cut(order, source_lengths, target_lengths, tokens, tokens)


@final
class TrainingStream:
    """The micro-batches of one rank from one optimizer step to another: a pure function of its arguments.

    A stream from step k yields exactly what a stream from step 0 yields after k steps, so resuming needs only a number.
    """

    def __init__(
        self,
        pairs: SentencePairs,
        *,
        source_tokens: int,
        target_tokens: int,
        seed: int,
        rank: int,
        world_size: int,
        accumulation: int,
        start_step: int,
        max_steps: int,
        pad_id: int,
        bos_id: int,
    ) -> None:
        assert 0 <= rank < world_size, f"rank {rank} of {world_size}"
        assert accumulation > 0, f"{accumulation} accumulations"
        assert len(pairs.source.lengths), "no sentence pairs to train on"
        self._pairs = pairs
        self._source_tokens, self._target_tokens, self._seed = source_tokens, target_tokens, seed
        self._rank, self._world_size, self._accumulation = rank, world_size, accumulation
        self._start_step, self._max_steps = start_step, max_steps
        self._pad_id, self._bos_id = pad_id, bos_id

    def __len__(self) -> int:
        return max(0, self._max_steps - self._start_step) * self._accumulation

    def __iter__(self) -> Iterator[TranslationBatch]:
        lengths = self._pairs.source.lengths, self._pairs.target.lengths
        for step, epoch, batch in self._global_batches():
            parts = micro_batches(batch, *lengths, parts=self._world_size * self._accumulation)
            step_tokens = [int(side[batch].sum()) for side in lengths]
            for part in parts[self._rank :: self._world_size]:
                yield collate(
                    self._pairs,
                    part,
                    pad_id=self._pad_id,
                    bos_id=self._bos_id,
                    step_source_tokens=step_tokens[0],
                    step_target_tokens=step_tokens[1],
                    epoch=epoch,
                    step=step,
                )

    def _global_batches(self) -> Iterator[tuple[int, int, Indices]]:
        if not len(self):
            return
        first = 0  # the optimizer step that opens the epoch
        for epoch in count():
            plan = plan_epoch(
                self._pairs.source.lengths,
                self._pairs.target.lengths,
                source_tokens=self._source_tokens,
                target_tokens=self._target_tokens,
                seed=self._seed,
                epoch=epoch,
            )
            for step in range(max(first, self._start_step), min(first + len(plan), self._max_steps)):
                yield step, epoch, plan[step - first]
            first += len(plan)
            if first >= self._max_steps:
                return


def _refuse_oversize(lengths: Lengths, budget: int, side: str) -> None:
    longest = int(lengths.max(initial=0))
    if longest > budget:
        raise UserError(
            f"optimization.{side}_tokens={budget} cannot hold the longest {side} sentence of {longest} tokens;"
            " raise it, or lower data.max_length"
        )


def _bucketed_order(
    source_lengths: Lengths, target_lengths: Lengths, source_tokens: int, target_tokens: int, rng: np.random.Generator
) -> Indices:
    """Order sentences so that neighbours are alike in both lengths; ties are random.

    Sentences sorted by source length are cut into bands of equally many tokens, and each band is sorted by target
    length, up and down in turn. Of B batches there are sqrt(2 B) bands: more would pad targets, fewer sources.
    """
    order = rng.permutation(len(source_lengths))
    order = order[np.argsort(source_lengths[order], kind="stable")]
    batches = max(source_lengths.sum() / source_tokens, target_lengths.sum() / target_tokens)
    bands = max(1, round((2 * batches) ** 0.5))
    targets = target_lengths[order].astype(np.int64)
    tokens = np.cumsum(source_lengths[order] + targets, dtype=np.int64)
    band = (tokens - 1) * bands // tokens[-1]
    upwards = np.where(band % 2 == 0, targets, -targets)
    return order[np.lexsort((upwards, band))]


def _cut(
    order: Indices, source_lengths: Lengths, target_lengths: Lengths, source_tokens: int, target_tokens: int
) -> list[Indices]:
    """Cut an order of sentences where the next one would break a budget of padded tokens."""
    sources, targets = source_lengths[order].astype(np.int64), target_lengths[order].astype(np.int64)
    batches = []
    start = 0
    while start < len(order):
        # The first sentence already bounds the batch, so no more than these need a look.
        most = max(1, min(source_tokens // int(sources[start]), target_tokens // int(targets[start])))
        window = slice(start, start + most)
        sizes = np.arange(1, len(sources[window]) + 1)
        fits = np.maximum.accumulate(sources[window]) * sizes <= source_tokens
        fits &= np.maximum.accumulate(targets[window]) * sizes <= target_tokens
        end = start + max(1, int(np.count_nonzero(fits)))
        batches.append(order[start:end])
        start = end
    return batches


def _even_starts(tokens: list[int], parts: int) -> list[int]:
    """Return where each part starts such that the costliest part is as cheap as can be.

    A part costs its size times its first sentence, which is its longest.
    """
    low, high = 0, tokens[0] * len(tokens) if tokens else 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _starts_within(tokens, parts, middle) else (middle, high)
    starts = _starts_within(tokens, parts, high)
    assert starts is not None, "one part can always hold everything"
    return starts


def _starts_within(tokens: list[int], parts: int, cost: int) -> list[int] | None:
    """Return where each part starts when none may cost more than `cost`, or None where that cannot be."""
    starts = []
    start = 0
    for left in range(parts - 1, -1, -1):  # how many parts come after this one
        starts.append(start)
        if start < len(tokens):
            room = cost // tokens[start]
            if room == 0:
                return None
            start += min(room, max(1, len(tokens) - start - left))
    return starts if start == len(tokens) else None
