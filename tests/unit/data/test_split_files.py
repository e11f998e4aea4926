"""Parallel encoding writes the same files as sequential encoding; files that were changed since are named."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.data.preparation.split_files import PreparedSplit, write_split
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.errors import UserError

EOS = SubwordTokenizer.eos_id
TEXT = st.lists(
    st.sampled_from(["ab", " ", "ü", "\t", "⟨eos⟩", "⟨pad⟩", "\x85", "\xa0", "\u2028", "\r", "\0", "水"]), max_size=12
).map("".join)


@pytest.fixture(scope="module")
def tokenizer() -> SubwordTokenizer:
    return SubwordTokenizer.train(["ab ab aab b\u00fc"] * 9, vocabulary_size=264)


@settings(max_examples=40)
@given(st.lists(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4), max_size=7))
def test_files_equal_those_of_sequential_encoding(
    tokenizer: SubwordTokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    chunks: list[list[tuple[str, str]]],
) -> None:
    stem = tmp_path_factory.mktemp("split") / "dev"
    texts = ((list(source), list(target)) for source, target in (zip(*chunk, strict=True) for chunk in chunks))
    counts = write_split(texts, tokenizer, stem)

    pairs = [pair for chunk in chunks for pair in chunk]
    encoded = [[[*tokenizer.encode_batch([line])[0], EOS] for line in pair] for pair in pairs]
    assert counts["pairs"] == len(encoded)
    for number, side in enumerate(("source", "target")):
        sentences = [both[number] for both in encoded]
        tokens = [token for sentence in sentences for token in sentence]
        ends = np.cumsum([0, *map(len, sentences)])
        assert stem.with_name(f"dev.{side}.tokens").read_bytes() == np.array(tokens, "<i4").tobytes()
        assert stem.with_name(f"dev.{side}.offsets").read_bytes() == ends.astype("<i8").tobytes()
        assert counts[f"{side}_tokens"] == len(tokens)
        assert stem.with_name(f"dev.{side}.txt").read_bytes().decode().split("\n")[:-1] == [
            pair[number] for pair in pairs
        ]


FILES = [f"dev.{side}.{suffix}" for side in ("source", "target") for suffix in ("tokens", "offsets", "txt")]


@settings(max_examples=20)
@given(name=st.sampled_from(FILES), kept=st.floats(0, 1, exclude_max=True) | st.none())
def test_a_file_that_was_cut_off_or_removed_is_named_before_it_is_read(
    tokenizer: SubwordTokenizer, tmp_path_factory: pytest.TempPathFactory, name: str, kept: float | None
) -> None:
    """A mapped file that is too short would end the process by SIGBUS. Tokens and offsets are compared."""
    folder = tmp_path_factory.mktemp("split")
    write_split([(["ab", "aab"], ["b\u00fc", "ab ab"])], tokenizer, folder / "dev")
    split = PreparedSplit(folder, "dev")
    assert (split.source_lines(), split.target_lines()) == (["ab", "aab"], ["b\u00fc", "ab ab"])
    path = folder / name
    if kept is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    named = rf"^{path.with_suffix('')}\.(tokens|offsets|txt): this file of the prepared corpus was removed or changed"
    with pytest.raises(UserError, match=named):
        read_all(folder)


def read_all(folder: Path) -> None:
    split = PreparedSplit(folder, "dev")
    split.source_lines()
    split.target_lines()
