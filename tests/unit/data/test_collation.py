"""A batch has exactly its sentences, end to end and shifted, and passes through Lightning."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning_utilities.core.apply_func import apply_to_collection
from torch import Tensor
from torch.utils.data import default_convert

from aiayn.data.batches.collation import IGNORED, TranslationBatch, collate, flat_tokens
from aiayn.data.batches.sentences import Sentences
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.preparation.split_files import PreparedSplit
from aiayn.flat_tokens import FlatTokens, Layout

BOS, EOS = 1, 2

assert_same = partial(torch.testing.assert_close, rtol=0, atol=0)
"""Also of nested tuples."""


def make_batch(split: PreparedSplit, indices: list[int]) -> TranslationBatch:
    numbers = np.array(indices, np.int64)
    return collate(split, numbers, start_id=BOS, step_source_tokens=98, step_target_tokens=99, epoch=3, step=41)


def leaves(part: object) -> Iterator[object]:
    """The tensors and numbers of nested tuples."""
    if isinstance(part, tuple):
        for each in part:
            yield from leaves(each)
    else:
        yield part


def devices(batch: TranslationBatch) -> set[str]:
    return {leaf.device.type for leaf in leaves(batch) if isinstance(leaf, Tensor)}


@given(st.lists(st.integers(0, 89), min_size=1, max_size=12))
def test_a_batch_is_its_sentences(some_prepared: PreparedData, indices: list[int]) -> None:
    split = some_prepared.split("train")
    batch = make_batch(split, indices)
    sources, targets = ([[*side][index].tolist() for index in indices] for side in (split.source, split.target))
    assert_same(batch.source, FlatTokens.of(sources))
    assert_same(batch.target_input, FlatTokens.of([[BOS, *target[:-1]] for target in targets]))
    assert_same(batch.target_output, FlatTokens.of(targets).ids)
    assert all(target[-1] == EOS and EOS not in target[:-1] for target in targets)
    assert batch.indices.tolist() == indices
    assert batch.num_source_tokens == sum(map(len, sources))
    assert batch.num_target_tokens == sum(map(len, targets))
    assert (batch.step_source_tokens, batch.step_target_tokens, batch.epoch, batch.step) == (98, 99, 3, 41)


@given(st.lists(st.integers(0, 89), max_size=9), st.integers(1, 80))
def test_rounding_up_adds_fillers_only(some_prepared: PreparedData, indices: list[int], multiple: int) -> None:
    split, numbers = some_prepared.split("train"), np.array(indices, np.int64)
    exact = collate(split, numbers, start_id=BOS)
    rounded = collate(split, numbers, start_id=BOS, multiple=multiple)
    for part, whole in (exact.source, rounded.source), (exact.target_input, rounded.target_input):
        count, fillers = len(part.ids), whole.layout.fillers
        assert fillers == -count % multiple
        assert_same(whole.ids[:count], part.ids)
        assert whole.ids[count:].tolist() == [0] * fillers, "a token of every vocabulary"
        positions, offsets, *sizes = whole.layout
        assert_same(positions[:count], part.layout.positions)
        assert positions[count:].tolist() == [0] * fillers, "a position of every model"
        assert offsets.tolist() == [*part.layout.offsets[:-1].tolist(), count + fillers]
        assert sizes == [part.layout.sentences, part.layout.longest, fillers]
    filled = [IGNORED] * rounded.target_input.layout.fillers
    assert rounded.target_output.tolist() == exact.target_output.tolist() + filled
    assert_same(rounded[3:], exact[3:])


def test_no_sentences_make_a_batch_of_weight_zero(some_prepared: PreparedData) -> None:
    split = some_prepared.split("train")
    batch, source, target = make_batch(split, []), *(next(iter(side)).tolist() for side in (split.source, split.target))
    assert_same(batch.source, FlatTokens.of([source]))
    assert_same(batch.target_input, FlatTokens.of([[BOS, *target[:-1]]]))
    assert batch.target_output.tolist() == [IGNORED] * len(target)
    assert (batch.num_source_tokens, batch.num_target_tokens) == (0, 0)


def test_a_batch_moves_between_devices(some_prepared: PreparedData) -> None:
    batch = make_batch(some_prepared.split("train"), [4, 2])
    moved = batch.to("meta")
    assert devices(moved) == {"meta"}
    assert moved[4:] == batch[4:]
    assert devices(batch) == {"cpu"}, "the original stays where it was"


def test_a_batch_passes_through_lightning_and_torch(some_prepared: PreparedData) -> None:
    batch = make_batch(some_prepared.split("train"), [4, 2])
    moved = apply_to_collection(batch, TranslationBatch, lambda data: data.to("meta"))  # as by its method `to`
    assert devices(moved) == {"meta"}
    # Precision plugins visit each tensor inside; a DataLoader converts each leaf.
    for passed in apply_to_collection(batch, Tensor, Tensor.clone), default_convert(batch):  # type: ignore[no-untyped-call]
        assert type(passed) is TranslationBatch
        for mine, its in (batch.source, passed.source), (batch.target_input, passed.target_input):
            assert (type(its), type(its.layout)) == (FlatTokens, Layout)
            assert [type(leaf) for leaf in leaves(its)] == [type(leaf) for leaf in leaves(mine)]
        assert_same(passed, batch)


@given(st.lists(st.lists(st.integers(3, 90), max_size=6), max_size=6))
def test_sentences_are_concatenated_with_eos(sentences: list[list[int]]) -> None:
    laid_out = Sentences.of(sentences, eos_id=EOS)
    assert laid_out.lengths.tolist() == [len(sentence) + 1 for sentence in sentences]
    ranges = zip(laid_out.offsets, laid_out.offsets[1:], strict=False)
    assert [laid_out.tokens[start:end].tolist() for start, end in ranges] == [[*each, EOS] for each in sentences]


@given(st.lists(st.lists(st.integers(3, 90), max_size=6), min_size=1, max_size=6), st.data())
def test_sentences_in_memory_are_gathered_in_any_order(sentences: list[list[int]], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(sentences) - 1), min_size=1))
    gathered = flat_tokens(Sentences.of(sentences, eos_id=EOS), np.array(numbers, np.int64))
    assert_same(gathered, FlatTokens.of([[*sentences[number], EOS] for number in numbers]))
