"""Text to the files of a held-out split: encoded in threads while other text is read and written."""

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple, final

import numpy as np

from aiayn.data.batches.prefetch import mapped_ahead
from aiayn.data.batches.sentences import SentencesInMemory
from aiayn.data.filters import TextPairs
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.errors import UserError

# The tokenizer shares a chunk out to all cores, but hands it over and takes it back on one: the other chunk fills in.
AT_ONCE = 2


def write_split(chunks: Iterable[TextPairs], tokenizer: AnyTokenizer, stem: Path) -> dict[str, int]:
    """Write `<stem>.<side>.tokens`, `.offsets` and `.txt` of both sides of a split that is kept whole.

    Memory is that of a few chunks, whatever their number.

    Args:
        chunks: the split's text, some pairs at a time.
        tokenizer: what encodes it.
        stem: the files' folder and the split's name.

    Returns:
        How many pairs were written, none being dropped, and the tokens of each side.

    Raises:
        UserError: a sentence holds a line break.
    """
    with ExitStack() as stack:
        sides = [SideWriter(stack, with_suffix(stem, side), keeps_text=True) for side in ("source", "target")]
        for chunk in mapped_ahead(partial(_encode, tokenizer), chunks, at_once=AT_ONCE):
            for writer, sentences, lines in zip(sides, chunk.sentences, chunk.lines, strict=True):
                writer.append(sentences, lines)
        return {
            "pairs": sides[0].sentences,
            "dropped_too_long": 0,
            "dropped_empty": 0,
            "source_tokens": sides[0].tokens,
            "target_tokens": sides[1].tokens,
        }


class _EncodedChunk(NamedTuple):
    sentences: tuple[SentencesInMemory, SentencesInMemory]
    lines: TextPairs


def _encode(tokenizer: AnyTokenizer, lines: TextPairs) -> _EncodedChunk:
    source, target = (SentencesInMemory.of(tokenizer.encode_batch(side), eos_id=tokenizer.eos_id) for side in lines)
    return _EncodedChunk((source, target), lines)


@final
class SideWriter:
    """Appends sentences to the files of one side of a split.

    Attributes:
        sentences: how many were written.
        tokens: how many were written.
    """

    def __init__(self, stack: ExitStack, stem: Path, *, keeps_text: bool = False) -> None:
        self.sentences = self.tokens = 0
        self._where = stem.name
        self._tokens, self._offsets = (
            stack.enter_context(with_suffix(stem, suffix).open("wb")) for suffix in ("tokens", "offsets")
        )
        self._text = stack.enter_context(with_suffix(stem, "txt").open("wb")) if keeps_text else None
        self._offsets.write(np.zeros(1, "<i8").tobytes())

    def append(self, sentences: SentencesInMemory, lines: Iterable[str] = ()) -> None:
        """Write sentences, and their text where it is kept.

        Raises:
            UserError: a line holds a line break.
        """
        self._tokens.write(sentences.tokens.astype("<i4", copy=False).data)
        self._offsets.write((sentences.offsets[1:] + self.tokens).astype("<i8", copy=False).data)
        self.sentences += len(sentences.lengths)
        self.tokens += len(sentences.tokens)
        if self._text:
            for line in lines:
                if "\n" in line:
                    raise UserError(f"data: a sentence of {self._where} holds a line break: {line[:50]!r}; remove it")
                self._text.write(line.encode() + b"\n")


def with_suffix(stem: Path, suffix: str) -> Path:
    """The file of a stem, which may hold dots itself."""
    return stem.with_name(f"{stem.name}.{suffix}")
