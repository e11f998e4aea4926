"""A sub-word vocabulary shared by both languages: byte-pair encoding or word pieces (section 5.1)."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain, product
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias, final, get_args

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from aiayn.errors import UserError
from aiayn.system import files

TokenizerKind: TypeAlias = Literal["byte_pair", "word_piece"]

# ⟨ and ‿ are no byte-level symbols, so no text contains a special token or a continuation by accident. Special tokens
# are ordinary entries; the library's `added_tokens` would be matched in text.
_SPECIAL_TOKENS = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩")
_CONTINUATION = "‿"
_NO_TEXT = Regex("|".join((*_SPECIAL_TOKENS, _CONTINUATION)))
_BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
_LONGEST_WORD = 64  # bytes; matching takes time quadratic in the length of a word

# The words of `ByteLevel`, but a letter keeps its combining marks, and the joiners inside its word.
_JOINER = "[\u200c\u200d]"
_LETTERS = rf"\p{{L}}(?:[\p{{L}}\p{{M}}]|{_JOINER}(?=[\p{{L}}\p{{M}}])|(?<=\p{{M}}){_JOINER})*"
_WORDS = Regex(rf"'(?:[stmd]|re|ve|ll)(?!\p{{M}})| ?{_LETTERS}| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+")
_KEPT = Regex(rf"(?<=\p{{L}})(?:\p{{M}}|{_JOINER}(?=[\p{{L}}\p{{M}}]))")
"""Marks and joiners before which `ByteLevel` would cut."""
_FIRST_MARK = "\N{COMBINING GRAVE ACCENT}"
"""The first combining character of Unicode."""

# After parallel encoding, a fork warns if this is unset, and its child deadlocks if it is true.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
os.register_at_fork(after_in_child=lambda: os.environ.update(TOKENIZERS_PARALLELISM="false"))


@final
class SubwordTokenizer:
    """Encodes text as token ids and back, lossless except for Unicode normalisation to NFC.

    Lines are split into words, whose bytes are grouped into tokens: by learned merges in order (`byte_pair`), or by
    longest match from left to right (`word_piece`). The vocabulary has every byte, so no text is unknown.
    """

    pad_id: ClassVar[int] = 0
    bos_id: ClassVar[int] = 1
    eos_id: ClassVar[int] = 2

    def __init__(self, backend: Tokenizer) -> None:
        self._backend = backend

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        *,
        vocabulary_size: int,
        kind: TokenizerKind = "byte_pair",
        pretokenized: bool = False,
    ) -> Self:
        """Learn the vocabulary from lines of both languages, deterministically.

        `vocabulary_size` includes 3 special tokens and 256 bytes, or 512 for word pieces, where a byte that begins a
        word is another token; little text may yield fewer. `pretokenized`: only spaces separate words; otherwise
        letters, digits and other signs are separated.

        Raises:
            UserError: `vocabulary_size` is too small for the special tokens and bytes.
        """
        smallest = len(_SPECIAL_TOKENS) + len(_BYTES) * (2 if kind == "word_piece" else 1)
        if vocabulary_size < smallest:
            raise UserError(
                f"tokenizer.vocabulary_size={vocabulary_size} is too small for tokenizer.kind={kind}: its special"
                f" tokens and bytes need {smallest} or more"
            )
        backend = _backend(kind, pretokenized=pretokenized, keeps_marks=True)
        text = _WatchedText(lines)
        backend.train_from_iterator(text, _trainer(kind, vocabulary_size))
        # Words without marks are the same by both patterns; such text keeps the file of earlier versions.
        backend.pre_tokenizer = _word_splitter(kind, pretokenized=pretokenized, keeps_marks=text.has_marks)
        return cls(_longest_match(backend) if kind == "word_piece" else _without_added_tokens(backend))

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the tokenizer of a JSON document written by `save`; a LookupError or TypeError for any other.

        All but the entries and merges is what `train` makes: other parts of the library take any time and memory, or
        end the process by a panic of its compiled code.
        """
        vocabulary = document["model"]["vocab"]
        special = [vocabulary[token] for token in _SPECIAL_TOKENS]
        pieces = (piece.removeprefix(_CONTINUATION) for piece in vocabulary if piece not in _SPECIAL_TOKENS)
        symbols = set(chain.from_iterable(pieces))
        if special != [0, 1, 2] or {*vocabulary.values()} != {*range(len(vocabulary))} or not symbols <= {*_BYTE_OF}:
            raise LookupError("entries")
        if _parts(document) not in _parts_of_all_kinds():
            raise LookupError(document["model"]["type"])
        try:
            return cls(Tokenizer.from_str(json.dumps(document)))
        except Exception as error:  # which is all that the library says of merges that are none
            raise LookupError("merges") from error

    def save(self, path: Path) -> None:
        """Write the tokenizer as JSON, atomically."""
        files.write_text(path, self._backend.to_str(pretty=True))

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens, special ones included."""
        return int(self._backend.get_vocab_size())

    @property
    def checksum(self) -> str:
        """Hexadecimal SHA-256 of the tokenizer."""
        return hashlib.sha256(self._backend.to_str().encode()).hexdigest()

    @property
    def pieces(self) -> list[str]:
        """Every token by id, in byte-level symbols."""
        return [str(self._backend.id_to_token(number)) for number in range(self.vocabulary_size)]

    def normalized(self, line: str) -> str:
        """Return a line as `decode` restores it from its ids: in NFC, by the same code that encodes.

        Texts in another form of Unicode are equal to outputs only after this: NFC decomposes letters of Bengali and
        Hindi that text usually has composed. Python's `unicodedata` may be of another version of Unicode.
        """
        return str(self._backend.normalizer.normalize_str(line))

    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each line, without bos and eos."""
        return [encoding.ids for encoding in self._backend.encode_batch_fast(lines, add_special_tokens=False)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids; special tokens and ids beyond the vocabulary have none."""
        return str(self._backend.decode(list(ids)))

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """Return the text of each sequence of token ids."""
        return list(self._backend.decode_batch([list(ids) for ids in batch]))

    def as_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """Return the bytes of each token; joined, they are the text in UTF-8."""
        pieces = (self._backend.id_to_token(number) or "" for number in ids)
        return [
            b"" if piece in _SPECIAL_TOKENS else bytes(map(_BYTE_OF.__getitem__, piece.removeprefix(_CONTINUATION)))
            for piece in pieces
        ]

    def word_starts(self, text: str) -> list[int]:
        """Return the character index of each word, including the space before it, in text that is not normalised.

        Words are whole also where an earlier version has learned from words that were cut at their marks.
        """
        return [start for _, (start, _) in self._words.pre_tokenize_str(text)]

    @cached_property
    def cuts_words(self) -> bool:
        """Whether words with combining marks are cut before them, and some entry has such a mark."""
        cut = self._backend.pre_tokenizer.pre_tokenize_str("e\N{COMBINING DOT BELOW}")
        entries = "\n".join(piece.decode(errors="ignore") for piece in self.as_bytes(range(self.vocabulary_size)))
        return len(cut) > 1 and normalizers.Replace(Regex(rf"\p{{M}}|{_JOINER}"), "").normalize_str(entries) != entries

    @cached_property
    def _words(self) -> pre_tokenizers.PreTokenizer:
        pretokenized = len(self._backend.pre_tokenizer.pre_tokenize_str("a.a")) == 1
        return (
            pre_tokenizers.Split(" ", "merged_with_next") if pretokenized else pre_tokenizers.Split(_WORDS, "isolated")
        )


def _byte_symbols() -> dict[str, int]:
    """Map byte-level symbols to bytes: printable Latin-1 to itself, the other bytes from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + count): byte for count, byte in enumerate(others)}


_BYTE_OF = _byte_symbols()


def _trainer(kind: TokenizerKind, vocabulary_size: int) -> trainers.BpeTrainer:
    """Return the trainer of either kind, which repeatedly merges the most frequent pair."""
    options: dict[str, Any] = {"special_tokens": list(_SPECIAL_TOKENS)}
    if kind == "word_piece":
        # Listed as special, all continued bytes get an id; the trainer would add only those seen, in random order.
        options["special_tokens"] += [_CONTINUATION + byte for byte in _BYTES]
        options["continuing_subword_prefix"] = _CONTINUATION
    return trainers.BpeTrainer(vocab_size=vocabulary_size, initial_alphabet=_BYTES, show_progress=False, **options)


def has_kept_marks(line: str) -> bool:
    """Whether words of a line have marks or joiners that an earlier version cut them at."""
    if max(line, default="") < _FIRST_MARK:
        return False
    composed = normalizers.NFC().normalize_str(line)
    return bool(normalizers.Replace(_KEPT, "").normalize_str(composed) != composed)


class _WatchedText:
    """Lines, and whether those read so far have marks inside words."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.has_marks = False
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.has_marks = self.has_marks or has_kept_marks(line)
            yield line


def _word_splitter(kind: TokenizerKind, *, pretokenized: bool, keeps_marks: bool) -> pre_tokenizers.PreTokenizer:
    """Split lines into words, each with the space before it, in byte-level symbols."""
    steps: list[pre_tokenizers.PreTokenizer] = []
    if pretokenized:
        steps.append(pre_tokenizers.Split(" ", "merged_with_next"))
    elif keeps_marks:
        steps.append(pre_tokenizers.Split(_WORDS, "isolated"))
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not pretokenized and not keeps_marks))
    if kind == "word_piece":
        steps.append(pre_tokenizers.Split(Regex(f".{{{_LONGEST_WORD}}}"), "isolated"))
    return pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]


def _backend(kind: TokenizerKind, *, pretokenized: bool, keeps_marks: bool) -> Tokenizer:
    """Return a tokenizer without entries."""
    backend = Tokenizer(models.BPE())
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = _word_splitter(kind, pretokenized=pretokenized, keeps_marks=keeps_marks)
    backend.decoder = decoders.Sequence([decoders.Replace(_NO_TEXT, ""), decoders.ByteLevel()])
    return backend


def _parts(document: dict[str, Any]) -> dict[str, Any]:
    """All of a saved tokenizer but its entries and merges."""
    learned = ("vocab", "merges") if document["model"]["type"] == "BPE" else ("vocab",)
    return {**document, "model": {key: value for key, value in document["model"].items() if key not in learned}}


@cache
def _parts_of_all_kinds() -> list[dict[str, Any]]:
    kinds: tuple[TokenizerKind, ...] = get_args(TokenizerKind)
    backends = [
        _longest_match(backend) if kind == "word_piece" else backend
        for kind, pretokenized, keeps_marks in product(kinds, (False, True), (False, True))
        for backend in [_backend(kind, pretokenized=pretokenized, keeps_marks=keeps_marks)]
    ]
    return [_parts(json.loads(backend.to_str())) for backend in backends]


def _longest_match(trained: Tokenizer) -> Tokenizer:
    """Return a tokenizer with the same vocabulary that uses longest match instead of merges."""
    backend = Tokenizer(
        models.WordPiece(
            trained.get_vocab(), continuing_subword_prefix=_CONTINUATION, max_input_chars_per_word=_LONGEST_WORD
        )
    )
    backend.normalizer, backend.pre_tokenizer = trained.normalizer, trained.pre_tokenizer
    backend.decoder = trained.decoder
    return backend


def _without_added_tokens(trained: Tokenizer) -> Tokenizer:
    """Return the tokenizer with special tokens in the vocabulary only, so that they are not matched in text."""
    return Tokenizer.from_str(json.dumps({**json.loads(trained.to_str()), "added_tokens": []}))
