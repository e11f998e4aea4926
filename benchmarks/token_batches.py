"""Batches of token ids that every contender gets, and what a step of training is for all of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from aiayn.data.batches.collation import TranslationBatch, collate
from aiayn.data.batches.sentences import PairsInMemory, Sentences
from aiayn.flat_tokens import FlatTokens, Layout
from aiayn.models.kernels.matmul import ROWS_MULTIPLE
from aiayn.models.kernels.padded_view import PaddedView

PAD, BOS, EOS = 0, 1, 2
"""As `aiayn.data.tokenizer` has them."""


class PaddedBatch(NamedTuple):
    """Sentence pairs padded on the right, as peers take them."""

    source: Tensor
    """Int64 `[batch, source_len]`, each sentence ending with eos."""
    target_input: Tensor
    """Int64 `[batch, target_len]`, bos and the sentence without its eos."""
    target_output: Tensor
    """Int64 `[batch, target_len]`, the sentence with its eos."""
    num_source_tokens: int
    """Without pads."""
    num_target_tokens: int

    @classmethod
    def of(cls, batch: TranslationBatch) -> "PaddedBatch":
        """The same sentences, without fillers."""
        source, target = (PaddedView(side.layout) for side in (batch.source, batch.target_input))
        return cls(
            _padded(batch.source.ids, source),
            _padded(batch.target_input.ids, target),
            _padded(batch.target_output, target),
            batch.num_source_tokens,
            batch.num_target_tokens,
        )


AnyBatch = TypeVar("AnyBatch", TranslationBatch, PaddedBatch)


def random_sentences(*, sentences: int, length: int, vocabulary_size: int, seed: int = 1) -> Sentences:
    """Random sentences of one length, their end marks included."""
    ids = np.random.default_rng(seed).integers(EOS + 1, vocabulary_size, (sentences, length - 1))
    return Sentences.of(ids.tolist(), eos_id=EOS)


def random_batch(*, sentences: int, length: int, vocabulary_size: int) -> TranslationBatch:
    """Random sentence pairs whose sides are equally long."""
    source, target = (
        random_sentences(sentences=sentences, length=length, vocabulary_size=vocabulary_size, seed=seed)
        for seed in (1, 2)
    )
    return collate(PairsInMemory(source, target), np.arange(sentences), start_id=BOS, multiple=ROWS_MULTIPLE)


def write_batches(path: Path, batches: Sequence[TranslationBatch]) -> None:
    """Write batches for other processes."""
    torch.save(list(batches), path)


def read_batches(path: str) -> list[TranslationBatch]:
    """Read what `write_batches` wrote."""
    with torch.serialization.safe_globals([TranslationBatch, FlatTokens, Layout]):
        batches: list[TranslationBatch] = torch.load(path)
    return batches


def read_padded(path: str) -> list[PaddedBatch]:
    """The same batches for peers."""
    return [PaddedBatch.of(batch) for batch in read_batches(path)]


def trainer(
    loss: Callable[[AnyBatch], Tensor], optimizer: torch.optim.Optimizer, batches: Sequence[AnyBatch]
) -> Callable[[int], float]:
    """A contender that makes one optimizer step a round; its work is counted in tokens of both sides, without pads.

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
        return batch.num_source_tokens + batch.num_target_tokens

    return turn


def _padded(ids: Tensor, view: PaddedView) -> Tensor:
    return view.pad(ids).masked_fill(~view.is_token, PAD)
