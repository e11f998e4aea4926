"""Training pairs encoded a shard at a time, so that a preparation that was killed goes on where it was.

A shard is a fixed range of the corpus' pairs and lies in a file of its own, whole or not there. What is in it follows
from these pairs alone, and all shards are joined in their order: the result has the same bytes whoever encoded them, in
how many processes, and after however many kills.
"""

import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from aiayn.data.batches.sentences import SentencesInMemory
from aiayn.data.corpora.languages import is_in_another_language
from aiayn.data.filters import (
    REASONS,
    Contamination,
    Filters,
    HeldOut,
    TextPairs,
    first_occurrences,
    pair_hashes,
)
from aiayn.data.preparation.encoding import SideWriter, with_suffix
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.system import files

SHARD = 10_000
"""Pairs of a shard, the last one's aside; part of its file's name."""
_BATCH = 2_000  # sentences that the tokenizer is given at a time: more of them are not encoded faster


class ShardText(NamedTuple):
    """The text of a shard, and the number of its first pair."""

    start: int
    pairs: TextPairs


@final
@dataclass(frozen=True)
class ShardEncoder:
    """Encodes shards into files; the same in any thread or process.

    Attributes:
        tokenizer: what encodes the text.
        languages: of source and target, where pairs are dropped by them.
        max_length: tokens a side, eos included, above which a pair is dropped.
        filters: what else is asked of a pair.
        held_out: the sentences of dev and test.
        folder: where the shards lie.
    """

    tokenizer: AnyTokenizer
    languages: tuple[str, str]
    max_length: int
    filters: Filters
    held_out: HeldOut
    folder: Path

    def write(self, text: ShardText) -> int:
        """Write a shard, and return the number after its last pair."""
        sides = [self._encoded(lines) for lines in text.pairs]
        found = self.held_out.found(text.pairs)
        reasons = self._reasons(text.pairs, sides, found)
        dropped = np.logical_or.reduce([*reasons.values()])
        sides = [side.only(~dropped) for side in sides] if dropped.any() else sides
        hashes = pair_hashes(text.pairs)[~dropped] if self.filters.duplicates else np.zeros(0, np.uint64)
        left = np.ones(len(dropped), np.bool_)
        counts = {}
        for reason, drops in reasons.items():
            counts[reason] = int(np.count_nonzero(drops & left))
            left &= ~drops
        about = {"counts": counts, "contamination": asdict(Contamination.of(found, text.pairs))}
        with files.atomic_writer(_path(self.folder, text.start)) as stream:
            np.savez(
                stream,
                source_tokens=sides[0].tokens,
                source_lengths=sides[0].lengths,
                target_tokens=sides[1].tokens,
                target_lengths=sides[1].lengths,
                hashes=hashes,
                about=np.frombuffer(json.dumps(about).encode(), np.uint8),
            )
        return text.start + len(dropped)

    def _encoded(self, lines: list[str]) -> SentencesInMemory:
        sentences: list[list[int]] = []
        for start in range(0, len(lines), _BATCH):
            sentences += self.tokenizer.encode_batch(lines[start : start + _BATCH])
        return SentencesInMemory.of(sentences, eos_id=self.tokenizer.eos_id)

    def _reasons(
        self, pairs: TextPairs, sides: Sequence[SentencesInMemory], found: NDArray[np.uint8]
    ) -> dict[str, NDArray[np.bool_]]:
        """Which pairs each reason would drop, in the order of `REASONS`; duplicates show only beside other shards."""
        nothing = np.zeros(len(pairs[0]), np.bool_)
        lengths = np.stack([side.lengths for side in sides])
        drops: dict[str, NDArray[np.bool_]] = dict.fromkeys(REASONS[:-1], nothing)
        drops["empty"] = np.array([not left.strip() or not right.strip() for left, right in zip(*pairs, strict=True)])
        drops["too_long"] = np.greater(lengths.max(axis=0), self.max_length)
        if self.filters.contaminated:
            drops["contaminated"] = np.not_equal(found[0] | found[1], 0)
        if self.filters.language:
            drops["language"] = np.array(
                [any(map(is_in_another_language, pair, self.languages)) for pair in zip(*pairs, strict=True)]
            )
        if self.filters.max_ratio is not None:
            words = lengths - 1  # without eos
            drops["ratio"] = np.greater(words.max(axis=0), self.filters.max_ratio * words.min(axis=0))
        return drops


def finished(folder: Path) -> set[int]:
    """The first pairs of the shards that are there and whole; damaged ones are removed."""
    starts = set()
    for path in folder.glob(f"*-{SHARD}.npz"):
        if _is_whole(path):
            starts.add(int(path.name.split("-")[0]))
        else:
            path.unlink()
    return starts


def first_missing(starts: set[int]) -> int:
    """The first pair that no shard holds."""
    return next(start for start in count(0, SHARD) if start not in starts)


def join(folder: Path, stem: Path, *, drops_duplicates: bool) -> tuple[dict[str, int], Contamination]:
    """Write `<stem>.<side>.tokens` and `.offsets` of both sides from all shards, which are left as they are.

    Args:
        folder: where the shards lie, all of them.
        stem: the files' folder and the split's name.
        drops_duplicates: whether pairs that were there before are dropped.

    Returns:
        How many pairs were written, how many were dropped by reason, and the tokens written of each side; and what the
        pairs share with dev and test.
    """
    paths = sorted(folder.glob(f"*-{SHARD}.npz"))
    assert [int(path.name.split("-")[0]) for path in paths] == [*range(0, SHARD * len(paths), SHARD)], "all are there"
    firsts = first_occurrences([_hashes(path) for path in paths]) if drops_duplicates else None
    counts: Counter[str] = Counter({f"dropped_{reason}": 0 for reason in REASONS})
    contamination = []
    seen = 0
    with ExitStack() as stack:
        writers = [SideWriter(stack, with_suffix(stem, side)) for side in ("source", "target")]
        for path in paths:
            sides, about = _read(path)
            if firsts is not None:
                chosen = firsts[seen : seen + len(sides[0].lengths)]
                seen += len(chosen)
                counts["dropped_duplicate"] += int(np.count_nonzero(~chosen))
                sides = [side.only(chosen) for side in sides]
            for writer, side in zip(writers, sides, strict=True):
                writer.append(side)
            counts.update({f"dropped_{reason}": number for reason, number in about["counts"].items()})
            contamination.append(Contamination(**about["contamination"]))
        written = dict(zip(("source_tokens", "target_tokens"), (writer.tokens for writer in writers), strict=True))
        pairs = writers[0].sentences
    return {"pairs": pairs, **counts, **written}, Contamination.together(contamination)


def _path(folder: Path, start: int) -> Path:
    return folder / f"{start:012}-{SHARD}.npz"


def _is_whole(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, EOFError):
        return False


def _hashes(path: Path) -> NDArray[np.uint64]:
    with np.load(path) as arrays:
        hashes: NDArray[np.uint64] = arrays["hashes"]
    return hashes


def _read(path: Path) -> tuple[list[SentencesInMemory], dict[str, Any]]:
    with np.load(path) as arrays:
        sides = [
            SentencesInMemory.with_lengths(arrays[f"{side}_tokens"], arrays[f"{side}_lengths"])
            for side in ("source", "target")
        ]
        return sides, json.loads(arrays["about"].tobytes())


def undone(texts: Iterator[TextPairs], done: set[int], *, start: int) -> Iterator[ShardText]:
    """The shards among consecutive ones that are still to be encoded."""
    for shard, pairs in zip(count(start, SHARD), texts, strict=False):
        if shard not in done:
            yield ShardText(shard, pairs)
