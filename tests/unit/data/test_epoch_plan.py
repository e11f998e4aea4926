"""Every sentence once, within budget, with little padding, for any block size."""

import gzip
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from aiayn.data.batches import epoch_plan
from aiayn.data.batches.epoch_plan import plan_epoch
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.errors import UserError

Lengths = NDArray[np.int64]

pairs_of_lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=200).map(
    lambda pairs: np.array(pairs, np.int64).reshape(-1, 2).T
)


def padded(batch: Lengths, lengths: Lengths) -> int:
    return len(batch) * int(lengths[batch].max())


def waste(batches: Sequence[Lengths], lengths: Lengths) -> float:
    """Share of padding among all positions."""
    return 1 - int(lengths.sum()) / sum(padded(batch, lengths) for batch in batches)


def assert_partition(parts: Sequence[Lengths], whole: Lengths) -> None:
    assert sorted(np.concatenate(parts).tolist() if parts else []) == sorted(whole.tolist())


def whole_plan(lengths: Lengths, *, source_tokens: int, target_tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """Plan with sorts and sums over the whole corpus: the reference implementation."""
    source, target = lengths
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(source))
    order = order[np.argsort(source[order], kind="stable")]
    bands = max(1, round((2 * max(source.sum() / source_tokens, target.sum() / target_tokens)) ** 0.5))
    tokens = np.cumsum(source[order] + target[order])
    band = (tokens - 1) * bands // max(1, tokens[-1:].sum())
    order = order[np.lexsort((np.where(band % 2 == 0, target[order], -target[order]), band))]
    batches: list[list[int]] = []
    for sentence in order.tolist():
        longer = [*batches[-1], sentence] if batches else [sentence]
        fits = padded(np.array(longer), source) <= source_tokens and padded(np.array(longer), target) <= target_tokens
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
        patch.setattr(epoch_plan, "_BLOCK", block)
        plan = plan_epoch(source, target, **budgets)
    expected = whole_plan(lengths, **budgets)
    assert [batch.tolist() for batch in plan] == expected
    assert [batch.tolist() for batch in plan[1::2]] == expected[1::2]


@given(pairs_of_lengths, st.integers(40, 300), st.integers(40, 300), st.integers(0, 2**63), st.integers(0, 9))
def test_a_plan_has_every_sentence_once_within_both_budgets(
    lengths: Lengths, source_tokens: int, target_tokens: int, seed: int, epoch: int
) -> None:
    def plan() -> Sequence[Lengths]:
        return plan_epoch(*lengths, source_tokens=source_tokens, target_tokens=target_tokens, seed=seed, epoch=epoch)

    batches = plan()
    assert_partition(batches, np.arange(lengths.shape[1]))
    assert all(padded(batch, lengths[0]) <= source_tokens for batch in batches)
    assert all(padded(batch, lengths[1]) <= target_tokens for batch in batches)
    assert all(map(np.array_equal, batches, plan())), "the same arguments give the same plan"


def caption_lengths(pairs: int) -> Lengths:
    """Lengths like those of image captions: 15 tokens on average, both sides correlated."""
    rng = np.random.default_rng(0)
    common = rng.gamma(9, 1.4, pairs)
    return np.stack([1 + np.rint(common * rng.normal(1.1, 0.12, pairs)).clip(1) for _ in range(2)]).astype(np.int64)


@pytest.mark.parametrize("budget", [2_000, 2_500, 3_000])
def test_little_is_padding(budget: int) -> None:
    lengths = caption_lengths(29_000)
    batches = plan_epoch(*lengths, source_tokens=budget, target_tokens=budget, seed=0, epoch=0)
    assert max(waste(batches, side) for side in lengths) < 0.06


@pytest.mark.slow
def test_little_is_padding_on_real_captions(aiayn_data: Path) -> None:
    texts = [
        gzip.decompress((aiayn_data / "multi30k" / f"train.{language}.gz").read_bytes()).decode().split("\n")[:-1]
        for language in ("en", "de")
    ]
    tokenizer = SubwordTokenizer.train([line for text in texts for line in text], vocabulary_size=8_000)
    source, target = (np.array([len(ids) + 1 for ids in tokenizer.encode_batch(text)]) for text in texts)
    for budget, epoch in product([2_000, 2_500, 3_000], range(3)):
        batches = plan_epoch(source, target, source_tokens=budget, target_tokens=budget, seed=0, epoch=epoch)
        assert max(waste(batches, source), waste(batches, target)) < 0.06


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
