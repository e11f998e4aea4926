"""Gathers sentences into the flat tensors of one forward pass."""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aiayn.data.batches.sentences import SentencePairs, Sentences
from aiayn.flat_tokens import FlatTokens, Layout

IGNORED = -100
"""The target of a filler, which no loss counts; torch's default `ignore_index`."""


class TranslationBatch(NamedTuple):
    """The pairs of one forward pass on one rank, sentences end to end.

    A named tuple, which Lightning and torch can move, pin and rebuild. The counts are Python numbers, so that reading
    them never synchronises with a device.

    Attributes:
        source: Each sentence ending with eos.
        target_input: bos and the sentence without its eos.
        target_output: int64 `[tokens]`, the sentence with its eos, in the layout of `target_input`: the prediction
            targets; `IGNORED` at fillers.
        indices: int64 `[sentences]`, each pair's index in its split or window.
        num_source_tokens: Tokens of `source`, without fillers.
        num_target_tokens: Tokens of `target_output` that are not `IGNORED`.
        step_source_tokens: Source tokens of the optimizer step, over all ranks and accumulations.
        step_target_tokens: Target tokens likewise: the loss' normaliser.
        epoch: Pass over the corpus, from 0.
        step: Optimizer step, from 0.
    """

    source: FlatTokens
    target_input: FlatTokens
    target_output: Tensor
    indices: Tensor
    num_source_tokens: int
    num_target_tokens: int
    step_source_tokens: int
    step_target_tokens: int
    epoch: int
    step: int

    def pin_memory(self) -> Self:
        """Return the batch with its tensors in pinned memory."""
        return self._changed(Tensor.pin_memory)

    def to(self, device: torch.device | str | int, *, non_blocking: bool | None = None) -> Self:
        """Return the batch on a device; by default, copies from pinned memory do not block."""
        async_copy = self.indices.is_pinned() if non_blocking is None else non_blocking
        return self._changed(lambda tensor: tensor.to(device, non_blocking=async_copy))

    def _changed(self, change: Callable[[Tensor], Tensor]) -> Self:
        return self._replace(
            source=self.source.changed(change),
            target_input=self.target_input.changed(change),
            target_output=change(self.target_output),
            indices=change(self.indices),
        )


def collate(
    pairs: SentencePairs,
    indices: NDArray[np.int64],
    *,
    start_id: int,
    step_source_tokens: int | None = None,
    step_target_tokens: int | None = None,
    epoch: int = 0,
    step: int = 0,
    multiple: int = 1,
) -> TranslationBatch:
    """Gather the pairs with the given indices `[sentences]`; by default the batch is a whole step.

    Without indices, the batch is pair 0 with weight zero, so that every rank takes part in every step. Fillers make
    the number of tokens of each side a multiple of `multiple`.
    """
    weightless = len(indices) == 0
    if weightless:
        indices = np.zeros(1, np.int64)
    source = flat_tokens(pairs.source, indices, multiple=multiple)
    target = flat_tokens(pairs.target, indices, multiple=multiple)
    layout, outputs = target.layout, target.ids.numpy()
    count = len(outputs) - layout.fillers
    num_source_tokens = 0 if weightless else int(pairs.source.lengths[indices].sum())
    num_target_tokens = 0 if weightless else count
    inputs = np.empty_like(outputs)
    inputs[1:] = outputs[:-1]
    inputs[layout.offsets[:-2].numpy()] = start_id
    inputs[count:] = 0
    outputs[num_target_tokens:] = IGNORED
    return TranslationBatch(
        source=source,
        target_input=FlatTokens(torch.from_numpy(inputs), layout),
        target_output=target.ids,
        indices=torch.from_numpy(indices.astype(np.int64)),
        num_source_tokens=num_source_tokens,
        num_target_tokens=num_target_tokens,
        step_source_tokens=num_source_tokens if step_source_tokens is None else step_source_tokens,
        step_target_tokens=num_target_tokens if step_target_tokens is None else step_target_tokens,
        epoch=epoch,
        step=step,
    )


def flat_tokens(side: Sentences, indices: NDArray[np.int64], *, multiple: int = 1) -> FlatTokens:
    """Gather sentences by index `[sentences]`, one or more, and fillers up to a multiple of `multiple`."""
    lengths = side.lengths[indices]
    count = int(lengths.sum())
    layout = Layout.of(lengths, fillers=-count % multiple)
    ids = np.zeros(len(layout.positions), np.int64)
    ids[:count] = side.tokens[np.repeat(side.offsets[indices], lengths) + layout.positions.numpy()[:count]]
    return FlatTokens(torch.from_numpy(ids), layout)
