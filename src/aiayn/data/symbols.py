"""A vocabulary of whole symbols, for parsing as translation (section 6.3): words on one side, brackets on the other.

What the targets hold is in the vocabulary in any case, and the most frequent words besides. Other words are unknown,
and told apart by how they look: classes as in the Berkeley parser, without the place in the sentence.

A text may hold any symbol, `⟨eos⟩` too. So the entries that no text holds, special symbols and classes, begin with the
space at which texts are split.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, final

from aiayn.errors import UserError
from aiayn.system import files
from aiayn.trees.linearization import CLOSING, OPENING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from aiayn.data.lines import TextPairs

KIND: Final = "symbols"

_SPACE = " "
_SPECIAL_SYMBOLS = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩")
_UNKNOWN = "unk"
_RARE = 1  # words seen no more often are unknown: the classes of unknown words have to be learned from some
_SUFFIXES = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")
_SUFFIXED = 5  # letters of a word whose end tells something
_VERSION = 1


def signature(word: str) -> tuple[str, ...]:
    """How a word looks: capitals, digits, hyphen, ending; in this order, and only what there is."""
    capitals = sum(map(str.isupper, word))
    has_digit, has_hyphen = any(map(str.isdigit, word)), "-" in word
    parts = []
    if capitals:
        parts.append("INITC" if capitals == 1 and word[0].isupper() else "CAPS")
    elif any(map(str.isalpha, word)):
        parts.append("LC")
    parts += ["NUM"] if has_digit else []
    parts += ["DASH"] if has_hyphen else []
    return (*parts, *_ending(word.lower(), is_plain=not has_hyphen and not (has_digit and capitals)))


def _ending(word: str, *, is_plain: bool) -> Iterable[str]:
    if len(word) > 2 and word.endswith("s") and word[-2] not in "sui":
        return ("s",)
    if len(word) >= _SUFFIXED and is_plain:
        return [suffix for suffix in _SUFFIXES if word.endswith(suffix)][:1]
    return ()


def _class_of(parts: Sequence[str]) -> str:
    return f"⟨{'-'.join((_UNKNOWN, *parts))}⟩"


@final
class SymbolTokenizer:
    """Text that is split by spaces to ids of whole words and brackets.

    An unknown word becomes the class of its signature, or the nearest one that training text had: without its ending,
    then without hyphen and so on. `decode` gives back known symbols, and the class's name for an unknown word. A symbol
    that is spelled like a special one or like a class is a symbol as any other.
    """

    pad_id: ClassVar[int] = 0
    bos_id: ClassVar[int] = 1
    eos_id: ClassVar[int] = 2

    def __init__(self, *, classes: Sequence[str], targets: Sequence[str], words: Sequence[str]) -> None:
        self.classes = tuple(classes)
        """Of unknown words, by name."""
        self.targets = tuple(targets)
        """What targets consist of."""
        self.words = tuple(words)
        """Those of sources alone, by falling frequency."""
        named = (_SPACE + name for name in (*_SPECIAL_SYMBOLS, *self.classes))
        self.pieces = [*named, *self.targets, *self.words]
        """Every entry by id, no two alike: special symbols and classes begin with a space."""
        self._ids = {piece: number for number, piece in enumerate(self.pieces)}

    @classmethod
    def train(cls, chunks: Iterable[TextPairs], *, vocabulary_size: int) -> Self:
        """Collect the symbols of some text; the same text gives the same vocabulary.

        Args:
            chunks: sources and targets; consumed as a stream.
            vocabulary_size: symbols in all, special ones and classes included; a small text may yield fewer.

        Raises:
            UserError: there is no room for what the targets hold.
        """
        counts: Counter[str] = Counter()
        held: set[str] = set()
        for sources, targets in chunks:
            for source in sources:
                counts.update(_split(source))
            for target in targets:
                held.update(_split(target))
        ranked = sorted((word for word in counts if word not in held), key=lambda word: (-counts[word], word))
        room = vocabulary_size - len(_SPECIAL_SYMBOLS) - len(held)
        if room < 1:
            raise UserError(
                f"tokenizer.vocabulary_size={vocabulary_size} is too small for tokenizer.kind={KIND}: the targets hold "
                f"{len(held)} symbols, and {vocabulary_size + 1 - room} are the least that do"
            )
        known = sum(counts[word] > _RARE for word in ranked)
        words, classes = _shared_out(ranked, known, room)
        return cls(classes=classes, targets=sorted(held), words=words)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """A tokenizer from the JSON that `save` wrote.

        Raises:
            LookupError: it is something else.
            TypeError: likewise.
        """
        if document["version"] != _VERSION:
            raise LookupError(document["version"])
        return cls(classes=document["classes"], targets=document["targets"], words=document["words"])

    def save(self, path: Path) -> None:
        """Write the tokenizer as JSON, whole or not at all."""
        files.write_text(path, self._text)

    @property
    def _text(self) -> str:
        content = {"classes": self.classes, "targets": self.targets, "words": self.words}
        return json.dumps({"kind": KIND, "version": _VERSION, **content}, ensure_ascii=False, indent=1) + "\n"

    @property
    def vocabulary_size(self) -> int:
        """Number of symbols, special ones included; every id is below it."""
        return len(self.pieces)

    @cached_property
    def checksum(self) -> str:
        """Hexadecimal sha256 of what `save` writes: equal ones read any text alike."""
        return hashlib.sha256(self._text.encode()).hexdigest()

    @property
    def brackets(self) -> list[tuple[int, int]]:
        """The ids of the opening and the closing bracket of each label that targets hold."""
        opening = [symbol for symbol in self.targets if symbol.startswith(OPENING)]
        return [(self._ids[symbol], self._ids[CLOSING + symbol.removeprefix(OPENING)]) for symbol in opening]

    @property
    def words_of_trees(self) -> list[int]:
        """The ids of what stands for a word in targets: XX, or tags."""
        return [self._ids[symbol] for symbol in self.targets if not symbol.startswith((OPENING, CLOSING))]

    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without bos and eos."""
        return [[self._id(symbol) for symbol in _split(line)] for line in lines]

    def _id(self, symbol: str) -> int:
        known = self._ids.get(symbol)
        return self._id_of_class(signature(symbol)) if known is None else known

    def _id_of_class(self, parts: Sequence[str]) -> int:
        nearest = (self._ids.get(_SPACE + _class_of(parts[:end])) for end in range(len(parts), 0, -1))
        return next((number for number in nearest if number is not None), self._ids[_SPACE + _class_of(())])

    def decode(self, ids: Iterable[int]) -> str:
        """Return the symbols of ids with spaces between; special ones and ids beyond the vocabulary are left out."""
        known = (self.pieces[number] for number in ids if len(_SPECIAL_SYMBOLS) <= number < len(self.pieces))
        return _SPACE.join(piece.removeprefix(_SPACE) for piece in known)

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """Return the text of each sequence of ids, as `decode` does."""
        return [self.decode(ids) for ids in batch]

    def as_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """Return the bytes of each symbol, with the space before it, whose sum is the text; special ones have none."""
        texts: list[bytes] = []
        for number in ids:
            symbol = self.decode([number]).encode()
            texts.append(b" " + symbol if symbol and any(texts) else symbol)
        return texts

    def word_starts(self, text: str) -> list[int]:
        """Return where the words of a text begin, each with the space before it."""
        return [0, *(position for position, character in enumerate(text) if character == " " and position)]


def _split(line: str) -> list[str]:
    return [symbol for symbol in line.split(_SPACE) if symbol]


def _shared_out(ranked: Sequence[str], known: int, room: int) -> tuple[list[str], list[str]]:
    """As many words as there is room for beside the classes of all other words, and these classes.

    Args:
        ranked: the words, by falling frequency.
        known: how many of them may be known.
        room: entries for both.
    """
    classes = {_class_of(())}
    end = len(ranked)
    while end > min(known, room - len(classes)):
        end -= 1
        if len(classes) < room:
            classes.add(_class_of(signature(ranked[end])))
    return list(ranked[:end]), sorted(classes)
