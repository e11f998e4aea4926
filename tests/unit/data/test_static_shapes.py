"""With static shapes every batch of a run has the same sizes, and the sentences that it has without."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.data.batches.batching import TrainingStream
from aiayn.data.batches.collation import IGNORED, TranslationBatch, collate
from aiayn.data.batches.sentences import PairsInMemory, Sentences
from aiayn.flat_tokens import FlatTokens

BOS, EOS = 1, 2
STEPS = 12

Sizes = list[int | tuple[int, ...]]


def some_pairs(longest: int) -> st.SearchStrategy[PairsInMemory]:
    """Pairs of 1 to `longest` tokens."""
    length = st.integers(1, longest)
    return st.lists(st.tuples(length, length), min_size=1, max_size=80).map(
        lambda lengths: PairsInMemory(
            *(
                Sentences.of([[5 + place for place in range(length - 1)] for length in side], eos_id=EOS)
                for side in zip(*lengths, strict=True)
            )
        )
    )


def sizes(tokens: FlatTokens) -> Sizes:
    """All that a compiled model is specialised to."""
    positions, offsets, *numbers = tokens.layout
    return [tuple(tokens.ids.shape), tuple(positions.shape), tuple(offsets.shape), *numbers]


@settings(max_examples=60)
@given(
    some_pairs(longest=1) | some_pairs(longest=4) | some_pairs(longest=40),
    st.integers(40, 300),
    st.integers(40, 300),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_all_batches_of_a_run_have_one_shape_and_steps_keep_their_sentences(
    pairs: PairsInMemory, source_tokens: int, target_tokens: int, world_size: int, accumulation: int
) -> None:
    def batches(rank: int, *, is_static: bool) -> list[TranslationBatch]:
        budgets = {"source_tokens": source_tokens, "target_tokens": target_tokens}
        shape = {"rank": rank, "world_size": world_size, "accumulation": accumulation}
        steps = {"start_step": 0, "max_steps": STEPS, "seed": 3, "start_id": BOS}
        return list(TrainingStream(pairs, **budgets, **shape, **steps, is_static=is_static))

    static, plain = ([batches(rank, is_static=each) for rank in range(world_size)] for each in (True, False))
    shapes = {str([sizes(batch.source), sizes(batch.target_input)]) for rank in static for batch in rank}
    assert len(shapes) == 1, "over several epochs, whose last batches are small"
    for step in range(STEPS):
        of_step = [[batch for rank in each for batch in rank if batch.step == step] for each in (static, plain)]
        totals = [
            (
                sorted(number for batch in some for number in batch.indices.tolist() if batch.num_target_tokens),
                {batch[6:] for batch in some},  # of the whole step: tokens, epoch, number
                sum(batch.num_source_tokens for batch in some),
                sum(batch.num_target_tokens for batch in some),
            )
            for some in of_step
        ]
        assert totals[0] == totals[1]


@settings(max_examples=60)
@given(some_pairs(longest=40), st.integers(40, 300), st.integers(1, 3))
def test_a_static_batch_is_the_plain_one_with_sentences_of_fillers_and_empty_ones(
    pairs: PairsInMemory, tokens: int, world_size: int
) -> None:
    steps = {"start_step": 0, "max_steps": 3, "seed": 3, "start_id": BOS}
    shape = {"rank": 0, "world_size": world_size, "accumulation": 1}
    for batch in TrainingStream(pairs, source_tokens=tokens, target_tokens=tokens, **shape, **steps, is_static=True):
        own = batch.indices.numpy() if batch.num_target_tokens else np.zeros(0, np.int64)
        plain = collate(pairs, own, start_id=BOS)
        lengths = [side.layout.offsets.diff()[:-1] for side in (batch.source, batch.target_input)]
        assert torch.equal(lengths[0] == 0, lengths[1] == 0), "every filler token has a source"
        for mine, expected in (batch.source, plain.source), (batch.target_input, plain.target_input):
            count, sentences = len(expected.ids), expected.layout.sentences
            positions, offsets, every, longest, fillers = mine.layout
            assert torch.equal(mine.ids[:count], expected.ids)
            assert torch.equal(positions[:count], expected.layout.positions)
            assert torch.equal(offsets[: sentences + 1], expected.layout.offsets[:-1])
            assert mine.ids[count:].tolist() == [0] * (len(mine.ids) - count), "a token of every vocabulary"
            assert (len(offsets), fillers) == (every + 2, 0)
            assert int(offsets[-1]) == len(mine.ids) > count
            assert longest >= int(offsets.diff().max())
            places = [place for length in offsets.diff().tolist() for place in range(length)]
            assert positions.tolist() == places
        filled = [IGNORED] * (len(batch.target_output) - len(plain.target_output))
        assert batch.target_output.tolist() == plain.target_output.tolist() + filled


def test_a_shape_is_little_larger_than_the_budget() -> None:
    """Of sentences as unequal as those of news, on one device and on eight."""
    rng = np.random.default_rng(0)
    lengths = (1 + rng.gamma(2.2, 12, 5_000).clip(1, 119)).astype(np.int32)
    side = Sentences.with_lengths(np.full(int(lengths.sum()), 5, np.int32), lengths)
    for world_size, most in (1, 1.02), (8, 1.08):
        stream = TrainingStream(
            PairsInMemory(side, side),
            source_tokens=25_000,
            target_tokens=25_000,
            rank=0,
            world_size=world_size,
            accumulation=1,
            start_step=0,
            max_steps=1,
            seed=1,
            start_id=BOS,
            is_static=True,
        )
        (batch,) = stream
        assert 25_000 < len(batch.source.ids) * world_size < most * 25_000
        assert batch.source.layout.longest == lengths.max()
