"""Training pairs encoded in shards, so that a killed preparation can be resumed.

A shard is a fixed range of the corpus' pairs in one atomically written file. It depends on these pairs only, and shards
are joined in order: the result has the same bytes for any number of processes and kills.
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
from aiayn.data.lines import TextPairs
from aiayn.data.preparation.filters import (
    REASONS,
    Contamination,
    Filters,
    HeldOut,
    first_occurrences,
    is_in_another_language,
    pair_hashes,
)
from aiayn.data.preparation.split_files import SideWriter, with_suffix
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.system import files

SHARD = 10_000
"""Pairs of a shard (the last one may have fewer); part of the file's name."""
_BATCH = 2_000  # sentences passed to the tokenizer at a time: more are not faster


class ShardText(NamedTuple):
    """The text of a shard, and the index of its first pair."""

    start: int
    pairs: TextPairs


@final
@dataclass(frozen=True)
class ShardEncoder:
    """Encodes shards into files.

    Attributes:
        tokenizer: Encodes the text.
        languages: Codes of source and target.
        max_length: Longest side in tokens, eos included.
        filters: Further requirements on pairs.
        held_out: The sentences of dev and test.
        folder: Folder of the shards.
    """

    tokenizer: AnyTokenizer
    languages: tuple[str, str]
    max_length: int
    filters: Filters
    held_out: HeldOut
    folder: Path

    def write(self, text: ShardText) -> int:
        """Write a shard, and return the index after its last pair."""
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
        """Mark the pairs each reason applies to, in the order of `REASONS`; duplicates are found when joining."""
        none = np.zeros(len(pairs[0]), np.bool_)
        lengths = np.stack([side.lengths for side in sides])
        drops: dict[str, NDArray[np.bool_]] = dict.fromkeys(REASONS[:-1], none)
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
    """Return the first pair of each complete shard; remove damaged shards."""
    starts = set()
    for path in folder.glob(f"*-{SHARD}.npz"):
        if _is_whole(path):
            starts.add(int(path.name.split("-")[0]))
        else:
            path.unlink()
    return starts


def first_missing(starts: set[int]) -> int:
    """Return the first pair outside all shards."""
    return next(start for start in count(0, SHARD) if start not in starts)


def join(folder: Path, stem: Path, *, drops_duplicates: bool) -> tuple[dict[str, int], Contamination]:
    """Write `<stem>.<side>.tokens` and `.offsets` of both sides from all shards; keep the shards.

    Args:
        folder: Folder of the shards.
        stem: The files' folder and the split's name.
        drops_duplicates: Whether to drop pairs that repeat an earlier one.

    Returns:
        Numbers of pairs written, of pairs dropped by reason, and of tokens of each side; and the overlap with dev and
        test.
    """
    paths = sorted(folder.glob(f"*-{SHARD}.npz"))
    assert [int(path.name.split("-")[0]) for path in paths] == [*range(0, SHARD * len(paths), SHARD)], "missing shard"
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


def unfinished(texts: Iterator[TextPairs], done: set[int], *, start: int) -> Iterator[ShardText]:
    """Yield the shards that are not done, from consecutive texts beginning at pair `start`."""
    for first, pairs in zip(count(start, SHARD), texts, strict=False):
        if first not in done:
            yield ShardText(first, pairs)


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
