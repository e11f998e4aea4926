"""Training and loading of either tokenizer: sub-words for translation, whole symbols for parsing."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias

from aiayn.data.lines import TextPairs
from aiayn.data.symbols import KIND, SymbolTokenizer
from aiayn.data.tokenizer import SubwordTokenizer, TokenizerKind
from aiayn.errors import UserError

AnyTokenizer: TypeAlias = SubwordTokenizer | SymbolTokenizer
AnyKind: TypeAlias = TokenizerKind | Literal["symbols"]


def train_tokenizer(
    chunks: Iterator[TextPairs], *, vocabulary_size: int, kind: AnyKind, pretokenized: bool
) -> AnyTokenizer:
    """Learn the vocabulary that source and target share, from a stream of text; see the `train` of each kind."""
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
        raise UserError(
            f"{path}: not a tokenizer of this project; put back tokenizer.json of its corpus below paths.cache/prepared"
        ) from None
