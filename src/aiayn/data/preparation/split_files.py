"""The files of one split: flat arrays of token ids, and the text of held-out splits."""

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from aiayn.data.batches.prefetch import parallel_map
from aiayn.data.batches.sentences import Sentences
from aiayn.data.corpora.corpus import Split
from aiayn.data.given_pieces import GivenTokenizer
from aiayn.data.lines import TextPairs
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.errors import UserError

SIDES = ("source", "target")
TREES = "trees"
"""Suffix of the file of gold trees."""

# The tokenizer uses all cores for a chunk, but a single one for its input and output: a second chunk fills that gap.
ENCODING_THREADS = 2


@final
class PreparedSplit:
    """The sentence pairs of one split; text and trees are stored for dev and test only.

    UserError if a file was removed or cut off since the corpus was verified.
    """

    def __init__(self, directory: Path, name: Split, limit: int | None = None) -> None:
        self._stem = directory / name
        self.source, self.target = (_mapped(with_suffix(self._stem, side), limit) for side in SIDES)

    def __len__(self) -> int:
        return len(self.source)

    def source_lines(self) -> list[str]:
        """Return the raw source sentences."""
        return self._lines("source.txt")

    def target_lines(self) -> list[str]:
        """Return the raw target sentences; see `PreparedData.references`."""
        return self._lines("target.txt")

    def gold_trees(self) -> list[str]:
        """Return the gold trees of a treebank, in brackets with tags."""
        return self._lines(TREES)

    def _lines(self, suffix: str) -> list[str]:
        path = with_suffix(self._stem, suffix)
        try:
            text = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            raise _lost(path) from None
        lines = text.split("\n")[:-1][: len(self)]  # not splitlines: a sentence may contain \r or U+2028
        if len(lines) < len(self):
            raise _lost(path)
        return lines


def _mapped(stem: Path, limit: int | None) -> Sentences:
    """One side of a split, or its first `limit` sentences, memory-mapped.

    The files must have the size that they were written with. If one is cut off later, while it is mapped, the kernel
    kills this process by SIGBUS; reading whole files instead would take the memory that mapping saves.
    """
    offsets = _mapped_array(with_suffix(stem, "offsets"), "<i8")
    tokens = _mapped_array(with_suffix(stem, "tokens"), "<i4")
    if len(tokens) != offsets[-1]:
        raise _lost(with_suffix(stem, "tokens"))
    if limit is not None:
        offsets = offsets[: limit + 1]
    return Sentences(tokens[: offsets[-1]], offsets)


def _mapped_array(path: Path, kind: str) -> NDArray[Any]:
    try:
        return np.asarray(np.memmap(path, dtype=kind, mode="r"))
    except (OSError, ValueError):  # ValueError: of an empty file, or one that ends within a number
        raise _lost(path) from None


def _lost(path: Path) -> UserError:
    """The error for a file that was removed or changed after the corpus had been verified."""
    return UserError(f"{path}: this file of the prepared corpus was removed or changed; rerun, and it is made again")


def write_split(chunks: Iterable[TextPairs], tokenizer: AnyTokenizer, stem: Path) -> dict[str, int]:
    """Write `<stem>.<side>.tokens`, `.offsets` and `.txt` of both sides of a held-out split, a few chunks at a time.

    The text has whole words: those of given pieces are restored.

    Returns:
        Numbers of pairs, of dropped pairs (none) and of tokens of each side.
    """
    with ExitStack() as stack:
        writers = [SideWriter(stack, with_suffix(stem, side), keeps_text=True) for side in SIDES]
        for encoded, text in parallel_map(partial(_encode, tokenizer), chunks, num_threads=ENCODING_THREADS):
            for writer, sentences, lines in zip(writers, encoded, text, strict=True):
                writer.append(sentences, lines)
        tokens = {f"{side}_tokens": writer.tokens for side, writer in zip(SIDES, writers, strict=True)}
        return {"pairs": writers[0].sentences, "dropped_too_long": 0, "dropped_empty": 0, **tokens}


def _encode(tokenizer: AnyTokenizer, text: TextPairs) -> tuple[list[Sentences], TextPairs]:
    sides = [Sentences.of(tokenizer.encode_batch(lines), eos_id=tokenizer.eos_id) for lines in text]
    if isinstance(tokenizer, GivenTokenizer):
        sources, targets = ([tokenizer.restored(line) for line in lines] for lines in text)
        return sides, (sources, targets)
    return sides, text


@final
class SideWriter:
    """Appends sentences to the files of one side of a split, and counts sentences and tokens."""

    def __init__(self, stack: ExitStack, stem: Path, *, keeps_text: bool = False) -> None:
        self.sentences = self.tokens = 0
        self._tokens, self._offsets = (
            stack.enter_context(with_suffix(stem, suffix).open("wb")) for suffix in ("tokens", "offsets")
        )
        self._text = stack.enter_context(with_suffix(stem, "txt").open("wb")) if keeps_text else None
        self._offsets.write(np.zeros(1, "<i8").tobytes())

    def append(self, sentences: Sentences, lines: Iterable[str] = ()) -> None:
        """Write sentences, and their text where it is stored."""
        self._tokens.write(sentences.tokens.astype("<i4", copy=False).data)
        self._offsets.write((sentences.offsets[1:] + self.tokens).astype("<i8", copy=False).data)
        self.sentences += len(sentences.lengths)
        self.tokens += len(sentences.tokens)
        if self._text:
            for line in lines:
                assert "\n" not in line, line
                self._text.write(line.encode() + b"\n")


def with_suffix(stem: Path, suffix: str) -> Path:
    """Append a suffix to a stem, which may contain dots itself."""
    return stem.with_name(f"{stem.name}.{suffix}")
