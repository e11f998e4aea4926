"""Every sentence once, within budget and close to it, and the same step for any number of ranks."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from aiayn.data.batches import epoch_plan
from aiayn.data.batches.batching import TrainingStream, evaluation_batches, micro_batches
from aiayn.data.batches.collation import TranslationBatch
from aiayn.data.batches.epoch_plan import plan_epoch
from aiayn.data.batches.sentences import PairsInMemory, Sentences
from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.data.lines import file_lines
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.errors import UserError

Lengths = NDArray[np.int64]

pairs_of_lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=200).map(
    lambda pairs: np.array(pairs, np.int64).reshape(-1, 2).T
)


def padded(batch: Lengths, lengths: Lengths) -> int:
    return len(batch) * int(lengths[batch].max())


def assert_partition(parts: Sequence[Lengths], whole: Lengths) -> None:
    assert sorted(np.concatenate(parts).tolist() if parts else []) == sorted(whole.tolist())


def waste(batches: Sequence[Lengths], lengths: Lengths) -> float:
    """Share of padding among all positions."""
    return 1 - int(lengths.sum()) / sum(padded(batch, lengths) for batch in batches)


def fills(batches: Sequence[Lengths], lengths: Lengths, *budgets: int) -> NDArray[np.float64]:
    """The tokens of each batch as shares of the budgets, `[2, batches]`."""
    return np.array(
        [[side[batch].sum() / most for batch in batches] for side, most in zip(lengths, budgets, strict=True)]
    )


def whole_plan(lengths: Lengths, *, source_tokens: int, target_tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """Plan with sorts and sums over the whole corpus: the reference implementation."""
    source, target = lengths
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(source))
    longer_side = np.maximum(source, target * source_tokens // target_tokens)
    order = order[np.argsort(longer_side[order], kind="stable")]
    batches: list[list[int]] = []
    for sentence in order.tolist():
        longer = [*batches[-1], sentence] if batches else [sentence]
        fits = source[longer].sum() <= source_tokens and target[longer].sum() <= target_tokens
        if batches and fits:
            batches[-1] = longer
        else:
            batches.append([sentence])
    return [batches[turn] for turn in rng.permutation(len(batches))]


@given(pairs_of_lengths, st.integers(40, 300), st.integers(40, 300), st.integers(0, 9), st.integers(1, 40))
def test_a_plan_does_not_depend_on_the_block_size(
    lengths: Lengths, source_tokens: int, target_tokens: int, seed: int, block: int
) -> None:
    budgets = {"source_tokens": source_tokens, "target_tokens": target_tokens, "seed": seed, "epoch": 1}
    source, target = lengths.astype(np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epoch_plan, "BLOCK", block)
        plan = plan_epoch(source, target, **budgets)
    expected = whole_plan(lengths, **budgets)
    assert [batch.tolist() for batch in plan] == expected
    assert [plan[place].tolist() for place in range(len(plan))] == expected


@given(pairs_of_lengths, st.integers(40, 300), st.integers(40, 300), st.integers(0, 2**63), st.integers(0, 9))
def test_a_plan_has_every_sentence_once_within_both_budgets(
    lengths: Lengths, source_tokens: int, target_tokens: int, seed: int, epoch: int
) -> None:
    def plan() -> Sequence[Lengths]:
        return [*plan_epoch(*lengths, source_tokens=source_tokens, target_tokens=target_tokens, seed=seed, epoch=epoch)]

    batches = plan()
    assert_partition(batches, np.arange(lengths.shape[1]))
    assert all(map(np.array_equal, batches, plan())), "the same arguments give the same plan"
    if batches:
        longest = max(lengths[0].max() / source_tokens, lengths[1].max() / target_tokens)
        fuller = fills(batches, lengths, source_tokens, target_tokens).max(axis=0)
        assert fuller.max() <= 1
        assert all(np.sort(fuller)[1:] > 1 - longest), "all but the last one lack less than a sentence"


def caption_lengths(pairs: int) -> Lengths:
    """Lengths like those of image captions: 15 tokens on average, both sides correlated."""
    rng = np.random.default_rng(0)
    common = rng.gamma(9, 1.4, pairs)
    return np.stack([1 + np.rint(common * rng.normal(1.1, 0.12, pairs)).clip(1) for _ in range(2)]).astype(np.int64)


@pytest.mark.parametrize("budget", [2_000, 3_000, 8_000])
def test_both_sides_are_full_and_little_is_padding(budget: int) -> None:
    lengths = caption_lengths(29_000)
    batches = [*plan_epoch(*lengths, source_tokens=budget, target_tokens=budget, seed=0, epoch=0)]
    assert fills(batches, lengths, budget, budget).mean(axis=1) == pytest.approx(1.0, abs=0.03)
    assert max(waste(batches, side) for side in lengths) < 0.14


CORPORA = {"grammar": (1_500, 0.97), "multi30k": (3_000, 0.98), "docs": (25_000, 0.97)}
"""Most tokens of a batch on either side, and the share of them that an epoch's batches must have on its longer side."""


@pytest.mark.parametrize("name", CORPORA)
def test_batches_of_real_text_have_nearly_the_tokens_that_are_stated(name: str, request: pytest.FixtureRequest) -> None:
    budget, least = CORPORA[name]
    if name == "grammar":
        corpus = GrammarCorpus(sentences=4_000, dev_sentences=1, test_sentences=1, seed=1)
        lines = [list(side) for side in zip(*corpus.rows("train"), strict=True)]
    else:
        folder = Path(request.getfixturevalue("aiayn_data"))
        files = [folder / name / f"train.{language}.gz" for language in ("en", "de")]
        lines = [list(islice(file_lines(path, "text"), 20_000)) for path in files]
    tokenizer = SubwordTokenizer.train(chain(*lines), vocabulary_size=2_000)
    encoded = [np.array([len(ids) + 1 for ids in tokenizer.encode_batch(side)]) for side in lines]
    lengths = np.stack(encoded)[:, np.maximum(*encoded) <= 256]
    batches = [*plan_epoch(*lengths, source_tokens=budget, target_tokens=budget, seed=1, epoch=0)]
    assert least < fills(batches, lengths, budget, budget).mean(axis=1).max() <= 1


def test_epochs_and_seeds_change_the_batches() -> None:
    lengths = caption_lengths(2_000)

    def groups(seed: int, epoch: int) -> list[frozenset[int]]:
        batches = plan_epoch(*lengths, source_tokens=500, target_tokens=500, seed=seed, epoch=epoch)
        return [frozenset(batch.tolist()) for batch in batches]

    first = groups(seed=0, epoch=0)
    for other in groups(seed=0, epoch=1), groups(seed=1, epoch=0):
        assert len(set(first) & set(other)) < 0.1 * len(first)
        companions = [max(len(group & new) for new in other) / len(group) for group in first]
        assert np.mean(companions) < 0.7, "sentences of one batch are spread over others the next time"


def test_batches_are_not_ordered_by_length() -> None:
    lengths = caption_lengths(5_000)
    batches = plan_epoch(*lengths, source_tokens=500, target_tokens=500, seed=0, epoch=0)
    means = [lengths[0][batch].mean() for batch in batches]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_sentence_over_a_budget_is_an_error_that_names_the_budget(side: str) -> None:
    budgets = {"source_tokens": 10, "target_tokens": 10, f"{side}_tokens": 9}
    with pytest.raises(UserError, match=rf"optimization\.{side}_tokens=9 .* 10 tokens") as caught:
        plan_epoch(np.array([3, 10]), np.array([10, 3]), seed=0, epoch=0, **budgets)
    assert "\n" not in str(caught.value)


@given(pairs_of_lengths, st.integers(1, 12))
def test_micro_batches_partition_the_batch_with_few_empty_ones(lengths: Lengths, parts: int) -> None:
    batch = np.arange(lengths.shape[1])
    cut = micro_batches(batch, *lengths, parts=parts)
    assert len(cut) == parts
    assert_partition(cut, batch)
    assert sum(len(part) > 0 for part in cut) == min(parts, len(batch))
    assert all(map(np.array_equal, cut, micro_batches(batch, *lengths, parts=parts)))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=9), st.integers(1, 5))
def test_the_highest_cost_of_a_micro_batch_is_minimal(tokens: list[int], parts: int) -> None:
    lengths = np.array(tokens)

    def costliest(cut: list[Lengths]) -> int:
        return max(padded(part, lengths) for part in cut if len(part))

    in_order = np.argsort(-lengths, kind="stable")
    borders = combinations(range(1, len(tokens)), min(parts, len(tokens)) - 1)
    best = min(costliest(np.split(in_order, list(border))) for border in borders)
    assert costliest(micro_batches(np.arange(len(tokens)), lengths, lengths, parts=parts)) == best


@given(pairs_of_lengths, st.integers(10, 300), st.integers(1, 5))
def test_evaluation_has_every_sentence_once_for_any_number_of_ranks(lengths: Lengths, tokens: int, ranks: int) -> None:
    batches = evaluation_batches(*lengths, tokens=tokens)
    assert_partition([batch for rank in range(ranks) for batch in batches[rank::ranks]], np.arange(lengths.shape[1]))
    for batch in batches:
        assert len(batch) == 1 or max(padded(batch, side) for side in lengths) <= tokens
    in_order = [int(lengths[0][sentence]) for batch in batches for sentence in batch]
    assert in_order == sorted(in_order, reverse=True)


StreamMaker = Callable[..., TrainingStream]


@pytest.fixture(scope="module")
def stream(some_prepared: PreparedData) -> StreamMaker:
    defaults = {"source_tokens": 400, "target_tokens": 400, "seed": 5, "rank": 0, "world_size": 1, "accumulation": 1}
    defaults |= {"start_step": 0, "max_steps": 30, "start_id": 1}
    return lambda **changes: TrainingStream(some_prepared.split("train"), **{**defaults, **changes})


def contents(batches: Iterator[TranslationBatch]) -> list[object]:
    return [plain(batch) for batch in batches]


def plain(part: object) -> object:
    """Nested tuples with lists instead of tensors."""
    if isinstance(part, tuple):
        return tuple(plain(each) for each in part)
    return part.tolist() if isinstance(part, Tensor) else part


@settings(max_examples=25)
@given(st.integers(0, 30), st.integers(1, 3), st.integers(1, 3), st.data())
def test_a_stream_resumes_exactly(
    stream: StreamMaker, start_step: int, world_size: int, accumulation: int, data: st.DataObject
) -> None:
    shape = {"rank": data.draw(st.integers(0, world_size - 1)), "world_size": world_size, "accumulation": accumulation}
    whole = stream(**shape)
    resumed = stream(**shape, start_step=start_step)
    assert contents(iter(resumed)) == contents(islice(whole, start_step * accumulation, None))
    assert len(list(resumed)) == len(resumed) == (30 - start_step) * accumulation


some_pairs = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=60).map(
    lambda lengths: PairsInMemory(
        *(Sentences.of([[5] * (length - 1) for length in side], eos_id=2) for side in zip(*lengths, strict=True))
    )
)


@settings(max_examples=50)
@given(some_pairs, st.integers(40, 300), st.integers(0, 15), st.integers(1, 8), st.integers(1, 8))
def test_a_step_is_the_same_for_any_ranks_and_accumulations(
    pairs: PairsInMemory, tokens: int, start_step: int, world_size: int, accumulation: int
) -> None:
    """Whatever the lengths: passes end within the steps, and some of these have fewer sentences than ranks."""

    def stream(**shape: int) -> TrainingStream:
        options: dict[str, Any] = {**shape, "start_step": start_step, "max_steps": 20, "seed": 3, "start_id": 1}
        return TrainingStream(pairs, source_tokens=tokens, target_tokens=tokens, **options)

    ranks = [list(stream(rank=rank, world_size=world_size, accumulation=accumulation)) for rank in range(world_size)]
    in_turn = [step for step in range(start_step, 20) for _ in range(accumulation)]
    assert all([batch.step for batch in rank] == in_turn for rank in ranks), "no rank waits for another's batch"
    for alone in stream(rank=0, world_size=1, accumulation=1):
        shared = [batch for rank in ranks for batch in rank if batch.step == alone.step]
        assert len(shared) == world_size * accumulation
        seen = [index for batch in shared if batch.num_target_tokens for index in batch.indices.tolist()]
        assert sorted(seen) == sorted(alone.indices.tolist())
        assert {batch.epoch for batch in shared} == {alone.epoch}
        assert {batch.step_target_tokens for batch in shared} == {alone.num_target_tokens}
        assert {batch.step_source_tokens for batch in shared} == {alone.num_source_tokens}
        assert sum(batch.num_source_tokens for batch in shared) == alone.num_source_tokens
        assert sum(batch.num_target_tokens for batch in shared) == alone.num_target_tokens


def test_equal_products_of_ranks_and_accumulations_give_equal_micro_batches(stream: StreamMaker) -> None:
    def micro(world_size: int, accumulation: int) -> list[object]:
        shape = {"world_size": world_size, "accumulation": accumulation, "max_steps": 5}
        ranks = [contents(iter(stream(rank=rank, **shape))) for rank in range(world_size)]
        return [batch for batches in zip(*ranks, strict=True) for batch in batches]

    assert micro(1, 4) == micro(2, 2) == micro(4, 1)


def test_a_stream_passes_over_the_corpus_epoch_by_epoch(stream: StreamMaker) -> None:
    batches = list(stream(max_steps=40))
    assert [batch.step for batch in batches] == list(range(40))
    epochs = [batch.epoch for batch in batches]
    assert epochs == sorted(epochs)
    assert epochs[-1] >= 2
    for epoch in range(epochs[-1]):
        seen = [index for batch in batches if batch.epoch == epoch for index in batch.indices.tolist()]
        assert sorted(seen) == list(range(90))


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 40), st.integers(1, 80))
def test_fillers_make_every_micro_batch_a_multiple_and_change_no_count(
    stream: StreamMaker, world_size: int, accumulation: int, multiple: int
) -> None:
    shape = {"world_size": world_size, "accumulation": accumulation, "max_steps": 2}
    for rank in range(world_size):
        exact, rounded = stream(rank=rank, **shape), stream(rank=rank, **shape, multiple=multiple)
        for own, filled in zip(exact, rounded, strict=True):
            assert [len(filled.source.ids) % multiple, len(filled.target_input.ids) % multiple] == [0, 0]
            assert plain(filled[3:]) == plain(own[3:])
