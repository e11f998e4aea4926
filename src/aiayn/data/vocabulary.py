"""Making and loading of any tokenizer: sub-words, whole symbols for parsing, or pieces as given."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, cast, get_args

from aiayn.data import given_pieces
from aiayn.data.given_pieces import GivenTokenizer, PieceMarker, vocabulary_tokenizer
from aiayn.data.lines import TextPairs, file_entry
from aiayn.data.tokenizer import SubwordTokenizer, TokenizerKind
from aiayn.data.whole_pieces import WholePieceTokenizer
from aiayn.errors import UserError
from aiayn.registry import added_tokenizers, named
from aiayn.system.documents import read_json

AnyTokenizer: TypeAlias = SubwordTokenizer | WholePieceTokenizer
AnyKind: TypeAlias = str
"""A `TokenizerKind` of sub-words, "given", or a kind of an extension."""


@dataclass(frozen=True)
class GivenPieces:
    """How to read text that is already split into sub-words."""

    marker: PieceMarker
    vocabulary: Path | None = None
    """The file of the vocabulary, or tokenizer.json of a run; None: it is collected from the training text."""

    def described(self) -> dict[str, Any]:
        """Return marker, and name and SHA-256 of the file; a UserError if it cannot be read."""
        file = None if self.vocabulary is None else file_entry(self.vocabulary, "tokenizer.vocabulary")
        return {"marker": self.marker, "vocabulary": file}


def train_tokenizer(
    chunks: Iterator[TextPairs],
    *,
    vocabulary_size: int,
    kind: AnyKind,
    pretokenized: bool,
    given: GivenPieces | None = None,
) -> AnyTokenizer:
    """Learn the vocabulary that source and target share, from a stream of text; see the `train` of each kind.

    For given pieces, `given` may name a file instead, which the first part of the text is compared with.
    """
    if added := added_tokenizers().get(kind):
        tokenizer: AnyTokenizer = named(added.tokenizer).train(chunks, vocabulary_size=vocabulary_size)
        return tokenizer
    if kind == given_pieces.KIND:
        assert given is not None, "given pieces have a marker"
        if given.vocabulary is None:
            return GivenTokenizer.train(chunks, vocabulary_size=vocabulary_size, marker=given.marker)
        if given.vocabulary.suffix == ".json":
            pieces = _saved_pieces(given.vocabulary)
        else:
            pieces = vocabulary_tokenizer(given.vocabulary, vocabulary_size=vocabulary_size, marker=given.marker)
        pieces.check_known(chain(*next(chunks, ())), f"tokenizer.vocabulary={given.vocabulary}")
        return pieces
    assert kind in get_args(TokenizerKind), kind
    lines = (line for pair in chunks for line in chain(*pair))
    return SubwordTokenizer.train(
        lines, vocabulary_size=vocabulary_size, kind=cast("TokenizerKind", kind), pretokenized=pretokenized
    )


def _saved_pieces(path: Path) -> GivenTokenizer:
    """The vocabulary of a run on given pieces, or of an imported model; UserError for any other."""
    tokenizer = load_tokenizer(path)
    if not isinstance(tokenizer, GivenTokenizer):
        raise UserError(f"tokenizer.vocabulary={path}: not a vocabulary of given pieces; name that of such a run")
    return tokenizer


def start_id(tokenizer: AnyTokenizer, token: str) -> int:
    """The id of the decoder's first input: bos, eos or pad."""
    return {"bos": tokenizer.bos_id, "eos": tokenizer.eos_id, "pad": tokenizer.pad_id}[token]


def load_tokenizer(path: Path) -> AnyTokenizer:
    """Read a saved tokenizer of any kind.

    Raises:
        UserError: The file cannot be read or is not a tokenizer of this project.
    """
    kinds: dict[str, type[AnyTokenizer]] = {given_pieces.KIND: GivenTokenizer}
    kinds |= {kind: named(added.tokenizer) for kind, added in added_tokenizers().items()}
    try:
        document = read_json(path)
        return kinds.get(document.get("kind"), SubwordTokenizer).from_document(document)
    except UserError:  # also a ValueError, and complete
        raise
    except OSError as error:
        raise UserError(f"{path}: the tokenizer cannot be read ({error.strerror})") from error
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UserError(
            f"{path}: not a tokenizer of this project; fetch it again, or copy that of the corpus below paths.cache"
        ) from None
