"""Training pairs encoded in shards, so that a killed preparation can be resumed.

A shard is a fixed range of the corpus' pairs in one atomically written file. It depends on these pairs only, and shards
are joined in order: the result has the same bytes for any number of processes and kills.
"""

import io
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from aiayn.data.batches.sentences import Sentences
from aiayn.data.lines import TextPairs
from aiayn.data.preparation.filters import (
    EXAMPLES,
    PLACES,
    REASONS,
    Filters,
    HeldOut,
    first_occurrences,
    is_in_another_language,
    pair_hashes,
)
from aiayn.data.preparation.split_files import SIDES, SideWriter, with_suffix
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.system import files

SHARD = 10_000
"""Pairs of a shard (the last one may have fewer); part of the file's name."""


class ShardText(NamedTuple):
    """The text of a shard, and the index of its first pair."""

    start: int
    pairs: TextPairs


@final
@dataclass(frozen=True)
class ShardEncoder:
    """Encodes shards into files of a folder; `max_length` counts the eos."""

    tokenizer: AnyTokenizer
    languages: tuple[str, str]
    max_length: int
    filters: Filters
    held_out: HeldOut
    folder: Path

    def write(self, text: ShardText) -> int:
        """Write a shard, and return the index after its last pair."""
        sides = [Sentences.of(self.tokenizer.encode_batch(lines), eos_id=self.tokenizer.eos_id) for lines in text.pairs]
        found = self.held_out.found(text.pairs)
        kept = np.ones(len(text.pairs[0]), np.bool_)
        counts = self.held_out.counts(found)
        for reason, drops in self._reasons(text.pairs, sides, found).items():
            counts[f"dropped_{reason}"] = int(np.count_nonzero(drops & kept))
            kept &= ~drops
        examples = [text.pairs[side][index] for index, side in np.argwhere(found.T)[:EXAMPLES]]
        about = json.dumps({"counts": counts, "examples": examples}).encode()
        sides = sides if kept.all() else [side.only(kept) for side in sides]
        archive = io.BytesIO()  # NumPy 1 leaves its archive open on a full disk, and Python prints a traceback of it
        np.savez(
            archive,
            source_tokens=sides[0].tokens,
            source_lengths=sides[0].lengths,
            target_tokens=sides[1].tokens,
            target_lengths=sides[1].lengths,
            hashes=pair_hashes(text.pairs)[kept] if self.filters.duplicates else np.zeros(0, np.uint64),
            about=np.frombuffer(about, np.uint8),
        )
        with files.atomic_writer(_path(self.folder, text.start)) as stream:
            stream.write(archive.getbuffer())
        return text.start + len(kept)

    def _reasons(
        self, pairs: TextPairs, sides: Sequence[Sentences], found: NDArray[np.uint8]
    ) -> dict[str, NDArray[np.bool_]]:
        """Mark the pairs each reason applies to, in the order of `REASONS`; duplicates are found when joining."""
        lengths = np.stack([side.lengths for side in sides])
        none = np.zeros(len(pairs[0]), np.bool_)
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


def first_missing(folder: Path) -> int:
    """Return the first pair without a shard; later shards are written again."""
    return next(start for start in count(0, SHARD) if not files.exists(_path(folder, start)))


def join(folder: Path, stem: Path, *, drops_duplicates: bool) -> tuple[dict[str, int], dict[str, Any]]:
    """Write `<stem>.<side>.tokens` and `.offsets` of both sides from all shards; keep the shards.

    Returns:
        Numbers of pairs written, of pairs dropped by reason, of contaminated pairs and of tokens of each side; and the
        overlap with dev and test: contaminated pairs, their sentences by place, and examples.
    """
    paths = [_path(folder, start) for start in range(0, first_missing(folder), SHARD)]
    firsts = first_occurrences([_hashes(path) for path in paths]) if drops_duplicates else None
    counts = Counter({f"dropped_{reason}": 0 for reason in REASONS} | dict.fromkeys(("contaminated", *PLACES), 0))
    examples: list[str] = []
    seen = 0
    with ExitStack() as stack:
        writers = [SideWriter(stack, with_suffix(stem, side)) for side in SIDES]
        for path in paths:
            sides, about = _read(path)
            if firsts is not None:
                chosen = firsts[seen : seen + len(sides[0].lengths)]
                seen += len(chosen)
                counts["dropped_duplicate"] += int(np.count_nonzero(~chosen))
                sides = [side.only(chosen) for side in sides]
            for writer, side in zip(writers, sides, strict=True):
                writer.append(side)
            counts.update(about["counts"])
            examples += about["examples"][: EXAMPLES - len(examples)]
    counts.update(pairs=writers[0].sentences, source_tokens=writers[0].tokens, target_tokens=writers[1].tokens)
    places = {place: counts.pop(place) for place in PLACES}
    return dict(counts), {"pairs": counts["contaminated"], "sentences": places, "examples": examples}


def _path(folder: Path, start: int) -> Path:
    return folder / f"{start:012}-{SHARD}.npz"


def _hashes(path: Path) -> NDArray[np.uint64]:
    with np.load(path) as arrays:
        hashes: NDArray[np.uint64] = arrays["hashes"]
    return hashes


def _read(path: Path) -> tuple[list[Sentences], dict[str, Any]]:
    with np.load(path) as arrays:
        sides = [Sentences.with_lengths(arrays[f"{side}_tokens"], arrays[f"{side}_lengths"]) for side in SIDES]
        return sides, json.loads(arrays["about"].tobytes())
