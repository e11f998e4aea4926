"""A vocabulary of whole symbols for parsing as translation (section 6.3): words as sources, brackets as targets.

It has all target symbols and the most frequent words. Other words are mapped to classes by their spelling, as in the
Berkeley parser. Special symbols and classes begin with a space, at which text is split, so no text contains one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final, Self, final

from aiayn.data.lines import TextPairs
from aiayn.data.whole_pieces import SPACE, WholePieceTokenizer, split
from aiayn.errors import UserError
from aiayn.extensions.parsing.linearization import CLOSING, OPENING

KIND: Final = "symbols"

_SPECIAL_SYMBOLS = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩")
_UNKNOWN = "unk"
_RARE = 1  # words seen at most this often are unknown, so that their classes have training data
_SUFFIXES = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")
_SHORTEST_SUFFIXED = 5  # letters of a word with a suffix
_VERSION = 1


def signature(word: str) -> tuple[str, ...]:
    """Return the features of a word's spelling: capitals, digits, hyphen, suffix, in this order."""
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
    if len(word) >= _SHORTEST_SUFFIXED and is_plain:
        return [suffix for suffix in _SUFFIXES if word.endswith(suffix)][:1]
    return ()


def _class_of(parts: Sequence[str]) -> str:
    return f"⟨{'-'.join((_UNKNOWN, *parts))}⟩"


@final
class SymbolTokenizer(WholePieceTokenizer):
    """Encodes text as ids of its symbols, which are separated by spaces.

    An unknown word becomes the class of its signature or, if training had none, that of the longest known prefix of the
    signature. `decode` returns the class's name for an unknown word.
    """

    pad_id: ClassVar[int] = 0
    bos_id: ClassVar[int] = 1
    eos_id: ClassVar[int] = 2

    def __init__(self, *, classes: Sequence[str], targets: Sequence[str], words: Sequence[str]) -> None:
        self.classes = tuple(classes)
        """Names of the classes of unknown words."""
        self.targets = tuple(targets)
        """Target symbols."""
        self.words = tuple(words)
        """Other source words, by descending frequency."""
        named = (SPACE + name for name in (*_SPECIAL_SYMBOLS, *self.classes))
        self.pieces = [*named, *self.targets, *self.words]
        """Every entry by id; special symbols and classes begin with a space."""
        self._ids = {piece: number for number, piece in enumerate(self.pieces)}

    @classmethod
    def train(cls, chunks: Iterable[TextPairs], *, vocabulary_size: int) -> Self:
        """Collect the symbols of a text; `vocabulary_size` includes special symbols and classes.

        Raises:
            UserError: `vocabulary_size` is too small for the target symbols.
        """
        counts: Counter[str] = Counter()
        in_targets: set[str] = set()
        for sources, targets in chunks:
            for source in sources:
                counts.update(split(source))
            for target in targets:
                in_targets.update(split(target))
        ranked = sorted((word for word in counts if word not in in_targets), key=lambda word: (-counts[word], word))
        room = vocabulary_size - len(_SPECIAL_SYMBOLS) - len(in_targets)
        if room < 1:
            raise UserError(
                f"tokenizer.vocabulary_size={vocabulary_size} is too small for tokenizer.kind={KIND}: the targets have "
                f"{len(in_targets)} symbols; give {vocabulary_size + 1 - room} or more"
            )
        known = sum(counts[word] > _RARE for word in ranked)
        words, classes = _divided(ranked, known, room)
        return cls(classes=classes, targets=sorted(in_targets), words=words)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the tokenizer of a JSON document written by `save`; a LookupError or TypeError for any other."""
        if document["version"] != _VERSION:
            raise LookupError(document["version"])
        return cls(classes=document["classes"], targets=document["targets"], words=document["words"])

    @property
    def document(self) -> dict[str, Any]:
        """The content of the saved file."""
        content = {"classes": self.classes, "targets": self.targets, "words": self.words}
        return {"kind": KIND, "version": _VERSION, **content}

    @property
    def brackets(self) -> list[tuple[int, int]]:
        """Ids of the opening and the closing bracket of each label."""
        opening = [symbol for symbol in self.targets if symbol.startswith(OPENING)]
        return [(self._ids[symbol], self._ids[CLOSING + symbol.removeprefix(OPENING)]) for symbol in opening]

    @property
    def words_of_trees(self) -> list[int]:
        """Ids of the target symbols for words: XX, or tags."""
        return [self._ids[symbol] for symbol in self.targets if not symbol.startswith((OPENING, CLOSING))]

    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without bos and eos."""
        return [[self._id(symbol) for symbol in split(line)] for line in lines]

    def _id(self, symbol: str) -> int:
        known = self._ids.get(symbol)
        return self._id_of_class(signature(symbol)) if known is None else known

    def _id_of_class(self, parts: Sequence[str]) -> int:
        nearest = (self._ids.get(SPACE + _class_of(parts[:end])) for end in range(len(parts), 0, -1))
        return next((number for number in nearest if number is not None), self._ids[SPACE + _class_of(())])

    def decode(self, ids: Iterable[int]) -> str:
        """Return the symbols joined by spaces; special ones and ids beyond the vocabulary have no text."""
        known = (self.pieces[number] for number in ids if len(_SPECIAL_SYMBOLS) <= number < len(self.pieces))
        return SPACE.join(piece.removeprefix(SPACE) for piece in known)

    def as_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """Return the bytes of each symbol with the space before it; joined, they are the text."""
        texts: list[bytes] = []
        for number in ids:
            symbol = self.decode([number]).encode()
            texts.append(b" " + symbol if symbol and any(texts) else symbol)
        return texts


def _divided(ranked: Sequence[str], known: int, room: int) -> tuple[list[str], list[str]]:
    """Split `room` entries between the first `known` words, or fewer, and the classes of all other words."""
    classes = {_class_of(())}
    end = len(ranked)
    while end > min(known, room - len(classes)):
        end -= 1
        if len(classes) < room:
            classes.add(_class_of(signature(ranked[end])))
    return list(ranked[:end]), sorted(classes)
