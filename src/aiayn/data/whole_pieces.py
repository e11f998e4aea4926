"""Tokenizers that split lines at spaces only: the base class of whole symbols and of pieces as given."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from aiayn.system import files

SPACE: Final = " "


class WholePieceTokenizer(ABC):
    """Encodes the pieces of a line as they are; saved as a JSON document."""

    pieces: list[str]
    """Every entry by id."""

    @property
    @abstractmethod
    def pad_id(self) -> int:
        """Fills batches."""

    @property
    @abstractmethod
    def bos_id(self) -> int:
        """Begins a sentence."""

    @property
    @abstractmethod
    def eos_id(self) -> int:
        """Ends a sentence."""

    @classmethod
    @abstractmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """The tokenizer of a saved file."""

    @abstractmethod
    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, without marks of its ends."""

    @abstractmethod
    def as_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """The UTF-8 text of each id."""

    @property
    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The content of the saved file: the tokenizer's kind, the version of its form, and its entries."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; special symbols and ids beyond the vocabulary have none."""

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """Return the text of each sequence of ids."""
        return [self.decode(ids) for ids in batch]

    def normalized(self, line: str) -> str:
        """Return the line itself: pieces are not normalised, and text is restored as it was given."""
        return line

    def word_starts(self, text: str) -> list[int]:
        """Return the character index of each word, including the space before it."""
        return [0, *(position for position, character in enumerate(text) if character == SPACE and position)]

    def save(self, path: Path) -> None:
        """Write the tokenizer as JSON, atomically."""
        files.write_text(path, self._text)

    @property
    def vocabulary_size(self) -> int:
        """Number of entries, special ones included."""
        return len(self.pieces)

    @cached_property
    def checksum(self) -> str:
        """Hexadecimal SHA-256 of the tokenizer."""
        return hashlib.sha256(self._text.encode()).hexdigest()

    @property
    def _text(self) -> str:
        return json.dumps(self.document, ensure_ascii=False, indent=1) + "\n"


def split(line: str) -> list[str]:
    """The pieces of a line."""
    return [piece for piece in line.split(SPACE) if piece]
