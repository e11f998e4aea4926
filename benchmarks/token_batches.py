"""Batches of token ids that every contender gets, and what a step of training is for all of them."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

PAD, BOS, EOS = 0, 1, 2
"""As `aiayn.data.tokenizer` has them."""


class Batch(NamedTuple):
    """Sentence pairs, padded on the right."""

    source: Tensor
    """Int64 `[batch, source_len]`, each sentence ending with eos."""
    target_input: Tensor
    """Int64 `[batch, target_len]`, bos and the sentence without its eos."""
    target_output: Tensor
    """Int64 `[batch, target_len]`, the sentence with its eos."""

    @property
    def tokens(self) -> int:
        """Of both sides, without pads."""
        return int((self.source != PAD).sum() + (self.target_output != PAD).sum())


def write_batches(path: Path, batches: Sequence[Batch]) -> None:
    """Write batches for other processes."""
    np.savez(path, *[tensor.numpy() for batch in batches for tensor in batch])


def read_batches(path: str) -> list[Batch]:
    """Read what `write_batches` wrote."""
    with np.load(path) as content:
        tensors = iter([torch.from_numpy(content[name]) for name in content.files])
    return [Batch(*three) for three in iter(lambda: tuple(islice(tensors, 3)), ())]


def trainer(
    loss: Callable[[Batch], Tensor], optimizer: torch.optim.Optimizer, batches: Sequence[Batch]
) -> Callable[[int], float]:
    """A contender that makes one optimizer step a round; its work is counted in tokens of both sides, pads aside.

    Args:
        loss: a scalar to minimise.
        optimizer: of the weights that it depends on.
        batches: round n trains on number n.
    """

    def turn(number: int) -> float:
        batch = batches[number % len(batches)]
        optimizer.zero_grad()
        torch.autograd.backward(loss(batch))
        optimizer.step()
        return batch.tokens

    return turn
