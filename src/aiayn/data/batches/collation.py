"""Gathers sentences into the tensors of one forward pass."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aiayn.data.batches.sentences import SentencePairs, Sentences

_TENSORS = ("source", "target_input", "target_output", "indices")


class TranslationBatch(NamedTuple):
    """The pairs of one forward pass on one rank, padded on the right.

    A named tuple, which Lightning and torch can move, pin and rebuild. The counts are Python numbers, so that reading
    them never synchronises with a device.

    Attributes:
        source: int64 `[batch, source_len]`, each sentence ending with eos.
        target_input: int64 `[batch, target_len]`, bos and the sentence without its eos.
        target_output: int64 `[batch, target_len]`, the sentence with its eos: the prediction targets.
        indices: int64 `[sentences]`, each pair's index in its split or window; further rows are padding.
        num_source_tokens: Tokens of `source`, without padding.
        num_target_tokens: Tokens of `target_output`, without padding.
        step_source_tokens: Source tokens of the optimizer step, over all ranks and accumulations.
        step_target_tokens: Target tokens likewise: the loss' normaliser.
        epoch: Pass over the corpus, from 0.
        step: Optimizer step, from 0.
        step_padded_source_tokens: Source positions of the optimizer step, padding included; 0: not counted.
        step_padded_target_tokens: Target positions likewise.
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
        """Return the batch with its tensors in pinned memory."""
        return self._with_tensors(Tensor.pin_memory)

    def to(self, device: torch.device | str | int, *, non_blocking: bool | None = None) -> Self:
        """Return the batch on a device; by default, copies from pinned memory do not block."""
        async_copy = self.source.is_pinned() if non_blocking is None else non_blocking
        return self._with_tensors(lambda tensor: tensor.to(device, non_blocking=async_copy))

    def _with_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        changed: dict[str, Any] = {name: change(getattr(self, name)) for name in _TENSORS}
        return self._replace(**changed)


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
    """Gather the pairs with the given indices `[batch]` into padded tensors; by default the batch is a whole step.

    Without indices, the batch is pair 0 with weight zero, so that every rank takes part in every step. The tensors'
    lengths are multiples of `length_multiple`, for compiled models.
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
    # The eos of a shorter sentence is a prediction target only, not an input.
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
    """Return the number of positions of one side of a batch of `collate`, padding included."""
    longest = int(lengths[indices].max() if len(indices) else lengths[0])
    return max(1, len(indices)) * _rounded_up(longest, length_multiple)


def _rounded_up(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple


def padded(side: Sentences, indices: NDArray[np.int64], pad_id: int, *, length_multiple: int = 1) -> NDArray[np.int64]:
    """Gather sentences by index `[batch]`, padded to a multiple of `length_multiple`: int64 `[batch, length]`."""
    lengths = side.lengths[indices]
    columns = np.arange(_rounded_up(int(lengths.max()), length_multiple))
    real = columns < lengths[:, None]
    padded = np.full(real.shape, pad_id, np.int64)
    padded[real] = side.tokens[(side.offsets[indices, None] + columns)[real]]
    return padded
