"""Sentence numbers to the tensors of one forward pass."""

from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aiayn.data.batches.sentences import SentencePairs, Sentences


class TranslationBatch(NamedTuple):
    """The pairs that one rank sees in one forward pass, padded on the right.

    A named tuple, because every part of Lightning and torch can move, pin and rebuild one; the counts are made on the
    host, so that reading them never waits for a device.

    Attributes:
        source: int64 `[batch, source_len]`, each sentence ending with eos.
        target_input: int64 `[batch, target_len]`, bos and the sentence without its eos.
        target_output: int64 `[batch, target_len]`, the sentence with its eos: what each position is to predict.
        indices: int64 `[sentences]`, each pair's number in its split or window; rows beyond these are padding.
        num_source_tokens: tokens of `source` that are no padding.
        num_target_tokens: tokens of `target_output` that are no padding.
        step_source_tokens: source tokens over all ranks and accumulations of the optimizer step.
        step_target_tokens: target tokens over all of them: the loss' normaliser.
        epoch: which pass over the corpus, from 0.
        step: which optimizer step, from 0.
        step_padded_source_tokens: source positions over all of them, pads included; 0 where nobody counts them.
        step_padded_target_tokens: likewise.
    """

    source: Tensor
    target_input: Tensor
    target_output: Tensor
    indices: Tensor
    num_source_tokens: int
    num_target_tokens: int
    step_source_tokens: int
    step_target_tokens: int
    epoch: int
    step: int
    step_padded_source_tokens: int = 0
    step_padded_target_tokens: int = 0

    def pin_memory(self) -> Self:
        """Return the batch with its tensors where a GPU can fetch them itself."""
        return self._replace(
            source=self.source.pin_memory(),
            target_input=self.target_input.pin_memory(),
            target_output=self.target_output.pin_memory(),
            indices=self.indices.pin_memory(),
        )

    def to(self, device: torch.device | str | int, *, non_blocking: bool | None = None) -> Self:
        """Return the batch with its tensors on a device; unless told, nobody waits for those in pinned memory."""
        if non_blocking is None:
            non_blocking = self.source.is_pinned()
        return self._replace(
            source=self.source.to(device, non_blocking=non_blocking),
            target_input=self.target_input.to(device, non_blocking=non_blocking),
            target_output=self.target_output.to(device, non_blocking=non_blocking),
            indices=self.indices.to(device, non_blocking=non_blocking),
        )


def collate(
    pairs: SentencePairs,
    indices: NDArray[np.int64],
    *,
    pad_id: int,
    bos_id: int,
    step_source_tokens: int | None = None,
    step_target_tokens: int | None = None,
    epoch: int = 0,
    step: int = 0,
    step_padded_tokens: tuple[int, int] = (0, 0),
    length_multiple: int = 1,
) -> TranslationBatch:
    """Gather the pairs of given numbers `[batch]` into padded tensors; without step counts the batch is a whole step.

    No numbers at all give a batch of weight zero, so that every rank takes part in every step: pair 0 with nothing to
    predict and no tokens counted.

    The tensors' lengths are multiples of `length_multiple`, for a compiled model.
    """
    weightless = len(indices) == 0
    if weightless:
        indices = np.zeros(1, np.int64)
    source = padded(pairs.source, indices, pad_id, length_multiple=length_multiple)
    target_output = padded(pairs.target, indices, pad_id, length_multiple=length_multiple)
    target_input = np.empty_like(target_output)
    target_input[:, 0] = bos_id
    target_input[:, 1:] = target_output[:, :-1]
    source_lengths, target_lengths = pairs.source.lengths[indices], pairs.target.lengths[indices]
    # The eos of a shorter sentence is predicted, never read: it stays out of the input.
    (shorter,) = np.nonzero(target_lengths < target_output.shape[1])
    target_input[shorter, target_lengths[shorter]] = pad_id
    if weightless:
        target_output[:] = pad_id
    num_source_tokens, num_target_tokens = (
        0 if weightless else int(lengths.sum()) for lengths in (source_lengths, target_lengths)
    )
    return TranslationBatch(
        source=torch.from_numpy(source),
        target_input=torch.from_numpy(target_input),
        target_output=torch.from_numpy(target_output),
        indices=torch.from_numpy(indices.astype(np.int64)),
        num_source_tokens=num_source_tokens,
        num_target_tokens=num_target_tokens,
        step_source_tokens=num_source_tokens if step_source_tokens is None else step_source_tokens,
        step_target_tokens=num_target_tokens if step_target_tokens is None else step_target_tokens,
        epoch=epoch,
        step=step,
        step_padded_source_tokens=step_padded_tokens[0],
        step_padded_target_tokens=step_padded_tokens[1],
    )


def padded_size(lengths: NDArray[np.integer[Any]], indices: NDArray[np.int64], *, length_multiple: int = 1) -> int:
    """The positions of a side of a batch, pads included, where its sentences are these: see `collate`.

    Args:
        lengths: tokens of every sentence, `[sentences]`.
        indices: which of them, `[batch]`.
        length_multiple: of the tensors' lengths.
    """
    longest = int(lengths[indices].max() if len(indices) else lengths[0])
    return max(1, len(indices)) * _rounded_up(longest, length_multiple)


def _rounded_up(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple


def padded(side: Sentences, indices: NDArray[np.int64], pad_id: int, *, length_multiple: int = 1) -> NDArray[np.int64]:
    """The sentences of given numbers `[batch]`, padded to the longest of them: int64 `[batch, length]`.

    The length is rounded up to its multiple.
    """
    lengths = side.lengths[indices]
    columns = np.arange(_rounded_up(int(lengths.max()), length_multiple))
    real = columns < lengths[:, None]
    padded = np.full(real.shape, pad_id, np.int64)
    padded[real] = side.tokens[(side.offsets[indices, None] + columns)[real]]
    return padded
