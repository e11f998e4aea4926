"""Every pair is kept or counted under one reason, for any division into shards."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.data.corpora.corpus import Split
from aiayn.data.lines import TextPairs
from aiayn.data.preparation.filters import PLACES, REASONS, Filters, HeldOut, is_in_another_language, normalized
from aiayn.data.preparation.shards import SHARD, ShardEncoder, ShardText, first_missing, join
from aiayn.data.preparation.split_files import PreparedSplit
from aiayn.data.tokenizer import SubwordTokenizer

Pairs = Sequence[tuple[str, str]]
Kept = list[tuple[str, str]]

HELD: dict[Split, Pairs] = {"dev": [("A b.", "ü"), ("...", "")], "test": [("b", "Ü a")]}
LINES = st.sampled_from(
    ["", " \t", "a", "b", "ü", "a  B!", "...", "aa aa aa aa aa aa", "aaaaaa", "the cat and the dog", "der und die"]
)
FILTERS = st.builds(Filters, st.none() | st.floats(1, 9), st.booleans(), st.booleans(), st.booleans())
LIMITS = st.integers(4, 40)


@pytest.fixture(scope="module")
def tokenizer() -> SubwordTokenizer:
    return SubwordTokenizer.train(["ab ab aab b\u00fc"] * 9, vocabulary_size=264)


def columns(pairs: Pairs) -> TextPairs:
    return [source for source, _ in pairs], [target for _, target in pairs]


def prepared(
    tokenizer: SubwordTokenizer, folder: Path, shards: Sequence[Pairs], max_length: int, filters: Filters
) -> tuple[dict[str, int], dict[str, Any], Kept]:
    """What is counted and kept of the pairs of some shards."""
    (folder / "shards").mkdir()
    held_out = HeldOut.of({split: [columns(pairs)] for split, pairs in HELD.items()})
    encoder = ShardEncoder(tokenizer, ("en", "de"), max_length, filters, held_out, folder / "shards")
    for number, pairs in enumerate(shards):
        assert encoder.write(ShardText(number * SHARD, columns(pairs))) == number * SHARD + len(pairs)
    counts, contamination = join(folder / "shards", folder / "train", drops_duplicates=filters.duplicates)
    return counts, contamination, sentences_in(tokenizer, folder)


def sentences_in(tokenizer: SubwordTokenizer, folder: Path) -> Kept:
    split = PreparedSplit(folder, "train") if (folder / "train.source.tokens").stat().st_size else None
    if split is None:  # nothing can be mapped where nothing is
        return []
    sides = (tokenizer.decode_batch(side) for side in (split.source, split.target))
    return list(zip(*sides, strict=True))


def reason(
    tokenizer: SubwordTokenizer, pair: tuple[str, str], before: Kept, max_length: int, filters: Filters
) -> str | None:
    """Return the reason for dropping a pair: the reference implementation."""
    known = [{normalized(line) for pairs in HELD.values() for line in columns(pairs)[side]} - {""} for side in (0, 1)]
    lengths = sorted(len(ids) for ids in tokenizer.encode_batch(pair))
    why = {
        "empty": not all(line.strip() for line in pair),
        "contaminated": filters.contaminated and any(normalized(pair[side]) in known[side] for side in (0, 1)),
        "language": filters.language and any(map(is_in_another_language, pair, ("en", "de"))),
        "too_long": lengths[1] + 1 > max_length,
        "ratio": filters.max_ratio is not None and lengths[1] > filters.max_ratio * lengths[0],
        "duplicate": filters.duplicates and pair in before,
    }
    assert tuple(why) == REASONS
    return next((name for name, holds in why.items() if holds), None)


@settings(max_examples=40)
@given(st.lists(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=6), min_size=1, max_size=4), LIMITS, FILTERS)
def test_a_pair_is_kept_or_dropped_for_the_first_reason_that_holds(
    tokenizer: SubwordTokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    shards: list[Kept],
    max_length: int,
    filters: Filters,
) -> None:
    counts, contamination, kept = prepared(tokenizer, tmp_path_factory.mktemp("a"), shards, max_length, filters)
    pairs = [pair for shard in shards for pair in shard]
    expected: Kept = []
    dropped = dict.fromkeys(REASONS, 0)
    for pair in pairs:
        if (why := reason(tokenizer, pair, expected, max_length, filters)) is None:
            expected.append(pair)
        else:
            dropped[why] += 1
    assert kept == expected
    assert {name: counts[f"dropped_{name}"] for name in REASONS} == dropped
    assert counts["pairs"] + sum(dropped.values()) == len(pairs)
    assert tuple(contamination["sentences"]) == PLACES
    assert (contamination["pairs"] == 0) == (contamination["examples"] == [])
    assert max(contamination["sentences"].values()) <= contamination["pairs"] == counts["contaminated"] <= len(pairs)

    whole, total, same = prepared(tokenizer, tmp_path_factory.mktemp("b"), [pairs], max_length, filters)
    assert (whole, total, same) == (counts, contamination, kept), "however they are cut"
    if kept:
        again, left, rest = prepared(tokenizer, tmp_path_factory.mktemp("c"), [kept], max_length, filters)
        assert rest == kept, "what passed passes again"
        assert again["pairs"] == len(kept)
        assert not (filters.contaminated and left["pairs"])


def test_contamination_compares_normalized_words(tokenizer: SubwordTokenizer, tmp_path: Path) -> None:
    pairs = [("a, B", "x"), ("B", "\u00dc - A"), ("...", ""), ("c", "A B"), ("(a) b?", "ü!")]
    counts, contamination, _ = prepared(tokenizer, tmp_path, [pairs], 40, Filters())
    assert contamination["pairs"] == 3
    assert contamination["sentences"] == {"dev.source": 2, "dev.target": 1, "test.source": 1, "test.target": 1}
    assert contamination["examples"] == ["a, B", "B", "\u00dc - A", "(a) b?", "ü!"]
    assert counts["dropped_contaminated"] == 0, "counted, and dropped only where that is asked for"


def test_a_preparation_resumes_at_the_first_missing_shard(tokenizer: SubwordTokenizer, tmp_path: Path) -> None:
    encoder = ShardEncoder(tokenizer, ("en", "de"), 9, Filters(), HeldOut.of({"dev": [], "test": []}), tmp_path)
    for number, missing in ((0, 1), (2, 1), (1, 3)):
        encoder.write(ShardText(number * SHARD, (["a"], ["a"])))
        assert first_missing(tmp_path) == missing * SHARD
