"""Text to the files of a prepared split: encoded in threads while other text is read and written."""

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias, final

import numpy as np

from aiayn.config.errors import UserError
from aiayn.data.ahead import mapped_ahead
from aiayn.data.sentences import SentencesInMemory
from aiayn.data.tokenizer import SubwordTokenizer

TextPairs: TypeAlias = tuple[list[str], list[str]]
"""Some sources and as many targets."""

# The tokenizer shares a chunk out to all cores, but hands it over and takes it back on one: the other chunk fills in.
_AT_ONCE = 2


def write_split(
    chunks: Iterable[TextPairs], tokenizer: SubwordTokenizer, stem: Path, *, max_length: int | None
) -> dict[str, int]:
    """Write `<stem>.<side>.tokens` and `.offsets` of both sides of a split, or `.txt` as well.

    Memory is that of a few chunks, whatever their number.

    Args:
        chunks: the split's text, some pairs at a time.
        tokenizer: what encodes it.
        stem: the files' folder and the split's name.
        max_length: tokens a side, eos included, above which a pair is dropped, as is one with an empty side; without it
            every pair is kept, and its text too.

    Returns:
        How many pairs were written, how many were dropped and why, and the tokens written of each side.

    Raises:
        UserError: a sentence whose text is kept holds a line break.
    """
    counts = dict.fromkeys(("pairs", "dropped_too_long", "dropped_empty", "source_tokens", "target_tokens"), 0)
    with ExitStack() as stack:
        sides = [
            _SideWriter(stack, with_suffix(stem, side), keeps_text=max_length is None) for side in ("source", "target")
        ]
        for chunk in mapped_ahead(partial(_encode, tokenizer, max_length), chunks, at_once=_AT_ONCE):
            for writer, sentences, lines in zip(sides, chunk.sentences, chunk.lines, strict=True):
                writer.append(sentences, lines)
            for name, number in chunk.counts.items():
                counts[name] += number
    return counts


class _EncodedChunk(NamedTuple):
    sentences: tuple[SentencesInMemory, SentencesInMemory]
    lines: TextPairs
    counts: dict[str, int]


def _encode(tokenizer: SubwordTokenizer, max_length: int | None, lines: TextPairs) -> _EncodedChunk:
    """Encode a chunk, and drop the pairs that training does not take."""
    source, target = (SentencesInMemory.of(tokenizer.encode_batch(side), eos_id=tokenizer.eos_id) for side in lines)
    dropped = {}
    if max_length is not None:
        empty = np.array([not left.strip() or not right.strip() for left, right in zip(*lines, strict=True)])
        too_long = np.maximum(source.lengths, target.lengths) > max_length
        dropped = {"dropped_empty": int(empty.sum()), "dropped_too_long": int((too_long & ~empty).sum())}
        if any(dropped.values()):
            source, target = (side.only(~(empty | too_long)) for side in (source, target))
    written = {
        "pairs": len(source.lengths),
        "source_tokens": len(source.tokens),
        "target_tokens": len(target.tokens),
    }
    return _EncodedChunk((source, target), lines, dropped | written)


@final
class _SideWriter:
    """Appends sentences to the files of one side of a split."""

    def __init__(self, stack: ExitStack, stem: Path, *, keeps_text: bool) -> None:
        self._written = 0  # tokens
        self._where = stem.name
        self._tokens, self._offsets = (
            stack.enter_context(with_suffix(stem, suffix).open("wb")) for suffix in ("tokens", "offsets")
        )
        self._text = stack.enter_context(with_suffix(stem, "txt").open("wb")) if keeps_text else None
        self._offsets.write(np.zeros(1, "<i8").tobytes())

    def append(self, sentences: SentencesInMemory, lines: list[str]) -> None:
        self._tokens.write(sentences.tokens.astype("<i4", copy=False).data)
        self._offsets.write((sentences.offsets[1:] + self._written).astype("<i8", copy=False).data)
        self._written += len(sentences.tokens)
        if self._text:
            for line in lines:
                if "\n" in line:
                    raise UserError(f"data: a sentence of {self._where} holds a line break: {line[:50]!r}; remove it")
                self._text.write(line.encode() + b"\n")


def with_suffix(stem: Path, suffix: str) -> Path:
    """The file of a stem, which may hold dots itself."""
    return stem.with_name(f"{stem.name}.{suffix}")
