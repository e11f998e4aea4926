"""The sentences of each optimizer step, and each rank's share: pure functions of lengths and seed.

A batch is global: all ranks and accumulations of one optimizer step share it. `plan_epoch` cuts a pass over the corpus
into batches: pairs are shuffled, sorted by the longer side relative to its budget, and cut where the next pair would
exceed `optimization.source_tokens` or `target_tokens`. Pads do not count, end marks do. An order by one key keeps the
ratio of both sides the same in all batches, so that both are nearly full at once. Batches come in random order. Every
epoch is planned from (seed, epoch) in a thread, while the one before is trained on.

The accumulation is the larger budget divided by `optimization.max_tokens_per_device` and the number of ranks, rounded
up, so this key bounds the mean number of tokens of a micro-batch, and not the pads, which only attention without a
kernel for flat tensors stores. A rank without sentences gets pair 0 with nothing to predict. On a GPU a thread makes
four batches ahead in pinned memory.
"""

from collections.abc import Iterator
from typing import final

import numpy as np

from aiayn.data.batches.collation import TranslationBatch, collate
from aiayn.data.batches.epoch_plan import EpochPlan, Indices, Lengths, plan_epoch
from aiayn.data.batches.prefetch import prefetch
from aiayn.data.batches.sentences import SentencePairs


def micro_batches(batch: Indices, source_lengths: Lengths, target_lengths: Lengths, *, parts: int) -> list[Indices]:
    """Split a global batch into micro-batches of about equal cost, padding included.

    `parts` is the number of ranks times that of accumulations; a rank gets part `a * world_size + rank` in accumulation
    a. So the optimizer step has the same sentences for any factors. With fewer sentences than parts, some are empty.
    """
    tokens = source_lengths[batch].astype(np.int64) + target_lengths[batch]
    longest_first = np.argsort(-tokens, kind="stable")
    batch, tokens = batch[longest_first], tokens[longest_first]
    starts = _even_starts(tokens.tolist(), parts)
    return [batch[start:end] for start, end in zip(starts, [*starts[1:], len(batch)], strict=True)]


def evaluation_batches(source_lengths: Lengths, target_lengths: Lengths, *, tokens: int) -> list[Indices]:
    """Split sentences into batches of at most `tokens` padded tokens a side, longest first.

    A sentence over the budget is a batch of its own. Rank r of W takes `batches[r::W]`.
    """
    order = np.lexsort((target_lengths, source_lengths))[::-1].astype(np.int64)
    sources, targets = (lengths[order].astype(np.int64) for lengths in (source_lengths, target_lengths))
    batches = []
    start = 0
    while start < len(order):
        # The first sentence has the longest source, which bounds the number of sentences of the batch.
        most = max(1, tokens // int(sources[start]))
        longest = np.maximum.accumulate(targets[start : start + most])
        fitting = np.count_nonzero(longest * np.arange(1, len(longest) + 1) <= tokens)
        batches.append(order[start : start + max(1, int(fitting))])
        start += len(batches[-1])
    return batches


@final
class TrainingStream:
    """The micro-batches of one rank from `start_step` to `max_steps`: a pure function of its arguments.

    A stream from step k yields what a stream from step 0 yields after k steps, so resuming needs only the step.
    `multiple` is that of `collate`; fillers do not count towards the budgets.
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
        start_id: int,
        multiple: int = 1,
    ) -> None:
        assert 0 <= rank < world_size, f"rank {rank} of {world_size}"
        assert accumulation > 0, f"{accumulation} accumulations"
        assert len(pairs.source.lengths), "no sentence pairs to train on"
        self._pairs = pairs
        self._source_tokens, self._target_tokens, self._seed = source_tokens, target_tokens, seed
        self._rank, self._world_size, self._accumulation = rank, world_size, accumulation
        self._start_step, self._max_steps = start_step, max_steps
        self._multiple = multiple
        self._start_id = start_id

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
                    start_id=self._start_id,
                    step_source_tokens=step_tokens[0],
                    step_target_tokens=step_tokens[1],
                    epoch=epoch,
                    step=step,
                    multiple=self._multiple,
                )

    def _global_batches(self) -> Iterator[tuple[int, int, Indices]]:
        first = 0  # optimizer step of the epoch's first batch
        for epoch, plan in enumerate(prefetch(self._plans(), depth=1)):
            for step in range(max(first, self._start_step), min(first + len(plan), self._max_steps)):
                yield step, epoch, plan[step - first]
            first += len(plan)

    def _plans(self) -> Iterator[EpochPlan]:
        """Yield the plan of each epoch up to the last step."""
        steps = epoch = 0
        while len(self) and steps < self._max_steps:
            plan = plan_epoch(
                self._pairs.source.lengths,
                self._pairs.target.lengths,
                source_tokens=self._source_tokens,
                target_tokens=self._target_tokens,
                seed=self._seed,
                epoch=epoch,
            )
            steps += len(plan)
            epoch += 1
            yield plan


def _even_starts(tokens: list[int], parts: int) -> list[int]:
    """Return the start of each part such that the highest cost of a part is minimal.

    A part costs its size times the length of its first sentence, which is its longest.
    """
    low, high = 0, tokens[0] * len(tokens) if tokens else 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _starts_within(tokens, parts, middle) else (middle, high)
    starts = _starts_within(tokens, parts, high)
    assert starts is not None, "one part can hold all sentences"
    return starts


def _starts_within(tokens: list[int], parts: int, cost: int) -> list[int] | None:
    """Return the start of each part such that no part costs more than `cost`, or None if that is impossible."""
    starts = []
    start = 0
    for left in range(parts - 1, -1, -1):  # number of parts after this one
        starts.append(start)
        if start < len(tokens):
            room = cost // tokens[start]
            if room == 0:
                return None
            start += min(room, max(1, len(tokens) - start - left))
    return starts if start == len(tokens) else None


@final
class EvaluationStream:
    """One pass over sentence pairs in batches of similar length; a rank takes every `world_size`-th batch."""

    def __init__(
        self,
        pairs: SentencePairs,
        *,
        tokens: int,
        start_id: int,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        self.pairs = pairs
        self.start_id = start_id
        batches = evaluation_batches(pairs.source.lengths, pairs.target.lengths, tokens=tokens)
        own = batches[rank::world_size]
        # Every rank makes the same number of forward passes, since they may synchronize: the last may be empty.
        rounds = -(-len(batches) // world_size)
        self.batches = [*own, *[np.zeros(0, np.int64)] * (rounds - len(own))]

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[TranslationBatch]:
        for indices in self.batches:
            yield collate(self.pairs, indices, start_id=self.start_id)
