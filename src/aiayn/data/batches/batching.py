"""Which sentences make an optimizer step, and which of them a rank sees: pure functions of lengths and seed.

A batch is global: it belongs to one optimizer step, whatever the number of ranks and accumulations that share it.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise
from typing import final

import numpy as np

from aiayn.data.batches.collation import TranslationBatch, collate, padded_size
from aiayn.data.batches.epoch_plan import EpochPlan, Indices, Lengths, batch_borders, plan_epoch
from aiayn.data.batches.sentences import SentencePairs


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
    borders = batch_borders(order, source_lengths, target_lengths, tokens, tokens)
    return [order[start:end] for start, end in pairwise(borders.tolist())]


@final
class TrainingStream:
    """The micro-batches of one rank from one optimizer step to another: a pure function of its arguments.

    A stream from step k yields exactly what a stream from step 0 yields after k steps, so resuming needs only a number.
    The multiples are those of `collate`; what they add comes on top of the budgets.
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
        length_multiple: int = 1,
    ) -> None:
        assert 0 <= rank < world_size, f"rank {rank} of {world_size}"
        assert accumulation > 0, f"{accumulation} accumulations"
        assert len(pairs.source.lengths), "no sentence pairs to train on"
        self._pairs = pairs
        self._source_tokens, self._target_tokens, self._seed = source_tokens, target_tokens, seed
        self._rank, self._world_size, self._accumulation = rank, world_size, accumulation
        self._start_step, self._max_steps = start_step, max_steps
        self._length_multiple = length_multiple
        self._pad_id, self._bos_id = pad_id, bos_id

    def __len__(self) -> int:
        return max(0, self._max_steps - self._start_step) * self._accumulation

    def __iter__(self) -> Iterator[TranslationBatch]:
        lengths = self._pairs.source.lengths, self._pairs.target.lengths
        for step, epoch, batch in self._global_batches():
            parts = micro_batches(batch, *lengths, parts=self._world_size * self._accumulation)
            step_tokens = [int(side[batch].sum()) for side in lengths]
            source, target = (
                sum(padded_size(side, part, length_multiple=self._length_multiple) for part in parts)
                for side in lengths
            )
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
                    step_padded_tokens=(source, target),
                    length_multiple=self._length_multiple,
                )

    def _global_batches(self) -> Iterator[tuple[int, int, Indices]]:
        first = 0  # the optimizer step that opens the epoch
        for epoch, plan in enumerate(self._plans()):
            for step in range(max(first, self._start_step), min(first + len(plan), self._max_steps)):
                yield step, epoch, plan[step - first]
            first += len(plan)

    def _plans(self) -> Iterator[EpochPlan]:
        """The plan of each epoch until the last step; the next one is made while its forerunner is trained on."""
        steps = 0
        with ThreadPoolExecutor(1, thread_name_prefix="plan") as thread:
            following = thread.submit(self._plan, 0) if len(self) else None
            for epoch in count(1):
                if following is None:
                    return
                plan = following.result()
                steps += len(plan)
                following = thread.submit(self._plan, epoch) if steps < self._max_steps else None
                yield plan

    def _plan(self, epoch: int) -> EpochPlan:
        return plan_epoch(
            self._pairs.source.lengths,
            self._pairs.target.lengths,
            source_tokens=self._source_tokens,
            target_tokens=self._target_tokens,
            seed=self._seed,
            epoch=epoch,
        )


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
