"""A batch has exactly its sentences, shifted and padded, and passes through Lightning."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning_utilities.core.apply_func import apply_to_collection
from torch import Tensor
from torch.utils.data import default_convert

from aiayn.data.batches.collation import TranslationBatch, collate, padded
from aiayn.data.batches.sentences import SentencesInMemory
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.preparation.split_files import PreparedSplit

PAD, BOS, EOS = 0, 1, 2


def make_batch(split: PreparedSplit, indices: list[int]) -> TranslationBatch:
    numbers = np.array(indices, np.int64)
    return collate(
        split, numbers, pad_id=PAD, bos_id=BOS, step_source_tokens=98, step_target_tokens=99, epoch=3, step=41
    )


def without_padding(rows: Tensor) -> list[list[int]]:
    """Strip the padding, which must be on the right only and not in every row."""
    stripped = [[token for token in row if token != PAD] for row in rows.tolist()]
    assert rows.tolist() == [row + [PAD] * (rows.shape[1] - len(row)) for row in stripped]
    assert max(map(len, stripped)) == rows.shape[1]
    return stripped


@given(st.lists(st.integers(0, 89), min_size=1, max_size=12))
def test_a_batch_is_its_sentences(some_prepared: PreparedData, indices: list[int]) -> None:
    split = some_prepared.split("train")
    batch = make_batch(split, indices)
    targets = [split.target[index].tolist() for index in indices]
    assert without_padding(batch.source) == [split.source[index].tolist() for index in indices]
    assert without_padding(batch.target_output) == targets
    assert without_padding(batch.target_input) == [[BOS, *target[:-1]] for target in targets]
    assert all(target[-1] == EOS and EOS not in target[:-1] for target in targets)
    assert batch.indices.tolist() == indices
    assert batch.num_source_tokens == int((batch.source != PAD).sum())
    assert batch.num_target_tokens == int((batch.target_output != PAD).sum())
    assert (batch.step_source_tokens, batch.step_target_tokens, batch.epoch, batch.step) == (98, 99, 3, 41)
    assert {part.dtype for part in batch[:4]} == {torch.int64}


@given(st.lists(st.integers(0, 89), max_size=9), st.integers(1, 9))
def test_rounding_lengths_up_adds_padding_only(some_prepared: PreparedData, indices: list[int], multiple: int) -> None:
    split, numbers = some_prepared.split("train"), np.array(indices, np.int64)
    exact = collate(split, numbers, pad_id=PAD, bos_id=BOS)
    rounded = collate(split, numbers, pad_id=PAD, bos_id=BOS, length_multiple=multiple)
    for part, whole in zip(exact[:3], rounded[:3], strict=True):
        length = part.shape[1]
        assert length <= whole.shape[1] < length + multiple
        assert whole.shape[1] % multiple == 0
        assert torch.equal(whole[:, :length], part)
        assert (whole[:, length:] == PAD).all()
    assert torch.equal(rounded.indices, exact.indices)
    assert rounded[4:] == exact[4:]


def test_no_sentences_make_a_batch_of_weight_zero(some_prepared: PreparedData) -> None:
    split = some_prepared.split("train")
    batch = make_batch(split, [])
    assert batch.source.tolist() == [split.source[0].tolist()]
    assert batch.target_output.tolist() == [[PAD] * len(split.target[0])]
    assert batch.target_input.tolist() == [[BOS, *split.target[0][:-1].tolist()]]
    assert (batch.num_source_tokens, batch.num_target_tokens) == (0, 0)


def test_a_batch_moves_between_devices(some_prepared: PreparedData) -> None:
    batch = make_batch(some_prepared.split("train"), [4, 2])
    moved = batch.to("meta")
    assert {part.device.type for part in moved[:4]} == {"meta"}
    assert moved[4:] == batch[4:]
    assert {part.device.type for part in batch[:4]} == {"cpu"}, "the original stays where it was"


def test_a_batch_passes_through_lightning_and_torch(some_prepared: PreparedData) -> None:
    batch = make_batch(some_prepared.split("train"), [4, 2])
    moved = apply_to_collection(batch, TranslationBatch, lambda data: data.to("meta"))  # as by its method `to`
    assert moved.source.device.type == "meta"
    # Precision plugins visit each tensor inside; a DataLoader converts each leaf.
    for passed in apply_to_collection(batch, Tensor, Tensor.clone), default_convert(batch):  # type: ignore[no-untyped-call]
        assert type(passed) is TranslationBatch
        assert all(torch.equal(mine, its) for mine, its in zip(batch[:4], passed[:4], strict=True))
        assert passed[4:] == batch[4:]


@given(st.lists(st.lists(st.integers(3, 90), max_size=6), max_size=6))
def test_sentences_are_concatenated_with_eos(sentences: list[list[int]]) -> None:
    laid_out = SentencesInMemory.of(sentences, eos_id=EOS)
    assert laid_out.lengths.tolist() == [len(sentence) + 1 for sentence in sentences]
    ranges = zip(laid_out.offsets, laid_out.offsets[1:], strict=False)
    assert [laid_out.tokens[start:end].tolist() for start, end in ranges] == [[*each, EOS] for each in sentences]


@given(st.lists(st.lists(st.integers(3, 90), max_size=6), min_size=1, max_size=6), st.data())
def test_sentences_in_memory_are_padded_on_the_right(sentences: list[list[int]], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(sentences) - 1), min_size=1))
    rows = padded(SentencesInMemory.of(sentences, eos_id=EOS), np.array(numbers, np.int64), PAD)
    longest = max(len(sentences[number]) for number in numbers) + 1
    expected = [[*sentences[number], EOS] for number in numbers]
    assert rows.tolist() == [row + [PAD] * (longest - len(row)) for row in expected]
