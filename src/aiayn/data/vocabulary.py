"""Training and loading of either tokenizer: sub-words for translation, whole symbols for parsing."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

from aiayn.data.symbols import KIND, SymbolTokenizer
from aiayn.data.tokenizer import SubwordTokenizer, TokenizerKind
from aiayn.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aiayn.data.lines import TextPairs

AnyTokenizer: TypeAlias = SubwordTokenizer | SymbolTokenizer
AnyKind: TypeAlias = TokenizerKind | Literal["symbols"]


def train_tokenizer(
    chunks: Iterator[TextPairs], *, vocabulary_size: int, kind: AnyKind, pretokenized: bool
) -> AnyTokenizer:
    """Learn the vocabulary that source and target share.

    Args:
        chunks: The text; consumed as a stream.
        vocabulary_size: Number of entries.
        kind: Of the tokenizer.
        pretokenized: See `SubwordTokenizer.train`; symbols are always separated by spaces.

    Raises:
        UserError: ``vocabulary_size`` is too small.
    """
    if kind == KIND:
        return SymbolTokenizer.train(chunks, vocabulary_size=vocabulary_size)
    lines = (line for pair in chunks for line in chain(*pair))
    return SubwordTokenizer.train(lines, vocabulary_size=vocabulary_size, kind=kind, pretokenized=pretokenized)


def load_tokenizer(path: Path) -> AnyTokenizer:
    """Read a saved tokenizer of either kind.

    Raises:
        UserError: The file cannot be read or is not a tokenizer of this project.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kind = SymbolTokenizer if document.get("kind") == KIND else SubwordTokenizer
        return kind.from_document(document)
    except OSError as error:
        raise UserError(f"{path}: the tokenizer cannot be read ({error.strerror})") from error
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UserError(f"{path}: not a tokenizer of this project; delete it and prepare the data again") from None
