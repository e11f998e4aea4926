"""Pieces as given: text that is already split into sub-words, and vocabularies of other programs.

A line is pieces separated by spaces; nothing is split here. Special symbols may lie anywhere in a vocabulary:

    GivenTokenizer(pieces, special=SpecialIds(pad=1, bos=0, eos=2, unk=3), marker="subword_nmt")  # fairseq
    GivenTokenizer(pieces, special=SpecialIds(pad=65000, bos=65000, eos=0, unk=1), marker="sentencepiece")  # Marian

`pieces` has every entry by id, with the names of special symbols at their ids. A vocabulary without bos takes the id of
another symbol for it, but not that of eos, since a search never yields bos; `model.decoder_start` may replace bos.
`read_vocabulary` and `GivenTokenizer.train` use fairseq's order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias, final, get_args

from aiayn.data.lines import TextPairs, file_lines
from aiayn.data.whole_pieces import SPACE, WholePieceTokenizer, split
from aiayn.errors import UserError

KIND: Final = "given"

PieceMarker: TypeAlias = Literal["subword_nmt", "sentencepiece"]
"""The mark of words: `@@` ends a piece that the next one continues (subword-nmt, fastBPE, fairseq), or `▁` begins a
piece that begins a word (SentencePiece, Marian)."""

MARKS: Final[dict[PieceMarker, str]] = {"subword_nmt": "@@", "sentencepiece": "▁"}
"""The characters of each marker."""

_OVERWRITE = "#fairseq:overwrite"  # marks a line whose piece has the name of an earlier entry
_OTHER_FORMATS = (".json", ".model", ".spm", ".yaml", ".yml")
_MOST_UNKNOWN = 0.1
"""The share of unknown pieces above which a vocabulary is refused as that of other text."""
_VERSION = 1


class SpecialIds(NamedTuple):
    """The ids of the special symbols in a vocabulary."""

    pad: int
    bos: int
    """The decoder's first input with `model.decoder_start=bos`."""
    eos: int
    unk: int
    """The id of every piece that the vocabulary lacks."""


SPECIAL_SYMBOLS: Final = ("<s>", "<pad>", "</s>", "<unk>")
"""The first entries of a vocabulary that is read from a file or collected from text, in fairseq's order."""

SPECIAL_IDS: Final = SpecialIds(bos=0, pad=1, eos=2, unk=3)
"""Their ids."""


@final
class GivenTokenizer(WholePieceTokenizer):
    """Encodes lines of pieces as ids, and ids as text whose words are restored.

    A piece that is not in the vocabulary, or is the name of a special symbol, becomes `unk`, whose text is its name.
    """

    def __init__(self, pieces: Sequence[str], *, special: SpecialIds, marker: PieceMarker) -> None:
        """Raise a ValueError if a special id is not one of `pieces`, equals that of eos, or a piece has two ids."""
        if special.eos in (special.pad, special.bos, special.unk):
            raise ValueError(f"{special}: eos has the id of another symbol, so a search could not end")
        if not all(0 <= number < len(pieces) for number in special):
            raise ValueError(f"{special}: there are {len(pieces)} pieces")
        self.pieces = list(pieces)
        self.special = special
        self.marker: PieceMarker = marker
        self._mark = MARKS[marker]
        self._silent = {special.pad, special.bos, special.eos}
        self._ids = {piece: number for number, piece in enumerate(self.pieces) if number not in self._silent}
        if len(self._ids) + len(self._silent) < len(self.pieces):
            raise ValueError("a piece has two ids")

    @classmethod
    def train(cls, chunks: Iterable[TextPairs], *, vocabulary_size: int, marker: PieceMarker) -> Self:
        """Collect the pieces of both sides, most frequent first, up to `vocabulary_size` entries with special symbols.

        Raises:
            UserError: No piece has the marker.
        """
        counts: Counter[str] = Counter()
        for pair in chunks:
            for line in chain(*pair):
                counts.update(split(line))
        for symbol in SPECIAL_SYMBOLS:
            del counts[symbol]
        ranked = sorted(counts, key=lambda piece: (-counts[piece], piece))
        _check_marker(ranked, marker, "the training text")
        pieces = [*SPECIAL_SYMBOLS, *ranked][:vocabulary_size]
        return cls(pieces, special=SPECIAL_IDS, marker=marker)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the tokenizer of a JSON document written by `save`; raise LookupError or TypeError for others."""
        if document["version"] != _VERSION or document["marker"] not in get_args(PieceMarker):
            raise LookupError(document["version"])
        return cls(document["pieces"], special=SpecialIds(**document["special"]), marker=document["marker"])

    @property
    def document(self) -> dict[str, Any]:
        """The content of the saved file."""
        content = {"marker": self.marker, "special": self.special._asdict(), "pieces": self.pieces}
        return {"kind": KIND, "version": _VERSION, **content}

    @property
    def pad_id(self) -> int:
        """Id of the padding symbol."""
        return self.special.pad

    @property
    def bos_id(self) -> int:
        """Id of the symbol before the first piece of an output."""
        return self.special.bos

    @property
    def eos_id(self) -> int:
        """Id of the end mark."""
        return self.special.eos

    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the id of each piece of each line, without bos and eos."""
        ids, unknown = self._ids, self.special.unk
        return [[ids.get(piece, unknown) for piece in split(line)] for line in lines]

    def check_known(self, lines: Iterable[str], setting: str) -> None:
        """Raise a UserError that begins with the setting if too many pieces of the lines are not in the vocabulary."""
        ids = [*chain(*self.encode_batch([*lines]))]
        share = ids.count(self.special.unk) / max(1, len(ids))
        if share > _MOST_UNKNOWN:
            raise UserError(
                f"{setting}: lacks {share:.0%} of the first training pairs' pieces; name this text's vocabulary"
            )

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words of ids, separated by spaces; pad, bos, eos and ids beyond the vocabulary have no text."""
        return "".join(self._texts(map(self._piece, ids)))

    def restored(self, line: str) -> str:
        """Return the words of a line of pieces, which the vocabulary may lack."""
        return "".join(self._texts(split(line)))

    def as_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """Return the bytes of each piece, with the space before a word; joined, they are the text."""
        return [text.encode() for text in self._texts(map(self._piece, ids))]

    def _piece(self, number: int) -> str:
        """The piece of an id; empty for ids without text."""
        return self.pieces[number] if 0 <= number < len(self.pieces) and number not in self._silent else ""

    def _texts(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the text of each piece without its mark, with the space before a word that is not the first."""
        begins, is_continued = True, True  # whether the text is still empty; whether its last word is unfinished
        for piece in pieces:
            if self.marker == "sentencepiece":
                text = piece.replace(self._mark, SPACE)
                text = text.lstrip(SPACE) if begins else text
            else:
                text = ("" if is_continued or not piece else SPACE) + piece.removesuffix(self._mark)
                is_continued = piece.endswith(self._mark) if piece else is_continued
            begins = begins and not text
            yield text


def read_vocabulary(path: Path, key: str) -> list[str]:
    """Return the entries of a vocabulary file by id: `SPECIAL_SYMBOLS`, and the first field of each line.

    These are the ids of fairseq for its dict.txt. Lines may also be those of `subword-nmt get-vocab`, a `.vocab` of
    SentencePiece, or pieces alone. A line with a special symbol has no entry of its own. Errors name the key.

    Raises:
        UserError: The file cannot be read, or a piece is in it twice or empty.
    """
    if path.suffix in _OTHER_FORMATS:
        raise UserError(
            f"{key}: {path} is no list of pieces; give fairseq's dict.txt, the .vocab beside a SentencePiece model, or "
            "a file with a piece a line"
        )
    lines: dict[str, int] = {}
    for number, line in enumerate(file_lines(path, key), start=1):
        piece, *fields = line.replace("\t", SPACE).split(SPACE)
        problem = None
        if not piece:
            problem = "no piece before the first space"
        elif piece in lines:
            problem = f"line {lines[piece]} has the piece {piece} too"
        elif _OVERWRITE in fields:
            problem = f"{piece} would have two entries"
        if problem is not None:
            raise UserError(f"{key}: {path}, line {number}: {problem}; give each piece a line of its own")
        lines[piece] = number
    if not lines:
        raise UserError(f"{key}: {path} is empty; fetch it again")
    return [*SPECIAL_SYMBOLS, *(piece for piece in lines if piece not in SPECIAL_SYMBOLS)]


def vocabulary_tokenizer(path: Path, *, vocabulary_size: int, marker: PieceMarker) -> GivenTokenizer:
    """Return the tokenizer of a vocabulary file; see `read_vocabulary`.

    Raises:
        UserError: The file cannot be used, has more than `vocabulary_size` entries, or no piece has the marker.
    """
    pieces = read_vocabulary(path, "tokenizer.vocabulary")
    if len(pieces) > vocabulary_size:
        raise UserError(
            f"tokenizer.vocabulary_size={vocabulary_size}: {path} has {len(pieces)} entries with special symbols; "
            "state that number"
        )
    _check_marker(pieces, marker, str(path))
    return GivenTokenizer(pieces, special=SPECIAL_IDS, marker=marker)


def _check_marker(pieces: Sequence[str], marker: PieceMarker, place: str) -> None:
    """Refuse a marker that no piece has: words would not be restored, and scores would be of pieces."""
    has_mark = {"subword_nmt": str.endswith, "sentencepiece": str.startswith}
    found = [name for name, mark in MARKS.items() if any(has_mark[name](piece, mark) for piece in pieces)]
    if marker not in found:
        other = f"take tokenizer.marker={found[0]}" if found else "give text that is split into sub-words"
        raise UserError(f"tokenizer.marker={marker}: no piece of {place} has its mark {MARKS[marker]}; {other}")
