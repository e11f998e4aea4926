"""One byte-level byte-pair encoding shared by both languages (section 5.1)."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, final

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from aiayn import files
from aiayn.config.errors import UserError

_SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")
_SMALLEST_VOCABULARY = len(_SPECIAL_TOKENS) + 256

# A fork after the first parallel encoding warns where this is not set, and deadlocks in the child where it is true.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
os.register_at_fork(after_in_child=lambda: os.environ.update(TOKENIZERS_PARALLELISM="false"))


@final
class SubwordTokenizer:
    """Text to token ids and back, losing nothing but the Unicode normal form.

    Lines are brought into NFC and split into merged byte sequences, so that no text is unknown and
    ``decode(encode(line))`` is ``line`` in NFC. Text that reads like a special token is text.
    """

    pad_id: ClassVar[int] = 0
    bos_id: ClassVar[int] = 1
    eos_id: ClassVar[int] = 2

    def __init__(self, backend: Tokenizer) -> None:
        backend.encode_special_tokens = True  # not part of the file: to be set after every load
        self._backend = backend

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_json, (self._backend.to_str(),)

    @classmethod
    def train(cls, lines: Iterable[str], *, vocabulary_size: int) -> Self:
        """Learn the merges from raw lines of both languages; the same lines give the same tokenizer.

        Args:
            lines: raw text, one sentence each; consumed as a stream.
            vocabulary_size: tokens in all, the 3 special ones and the 256 bytes included. Little text may yield fewer.

        Raises:
            UserError: ``vocabulary_size`` leaves no room for the special tokens and the bytes.
        """
        if vocabulary_size < _SMALLEST_VOCABULARY:
            raise UserError(
                f"tokenizer.vocabulary_size={vocabulary_size} is too small:"
                f" {len(_SPECIAL_TOKENS)} special tokens and 256 bytes need {_SMALLEST_VOCABULARY} or more"
            )
        backend = Tokenizer(models.BPE())
        backend.normalizer = normalizers.NFC()
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary_size,
            special_tokens=list(_SPECIAL_TOKENS),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        backend.train_from_iterator(lines, trainer)
        return cls(backend)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote.

        Raises:
            UserError: the file cannot be read or is not a tokenizer of this project.
        """
        try:
            text = path.read_text(encoding="utf-8")
            document = json.loads(text)
            added = {token["content"]: token["id"] for token in document["added_tokens"]}
            known = document["model"]["type"] == "BPE" and added == {t: i for i, t in enumerate(_SPECIAL_TOKENS)}
        except OSError as error:
            raise UserError(f"{path}: the tokenizer cannot be read ({error.strerror})") from error
        except (ValueError, KeyError, TypeError):
            known = False
        if not known:
            raise UserError(f"{path}: not a tokenizer of this project; delete it and prepare the data again")
        return cls(Tokenizer.from_str(text))

    def save(self, path: Path) -> None:
        """Write the tokenizer as JSON, whole or not at all."""
        files.write_text(path, self._backend.to_str(pretty=True))

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens, special ones included; every id is below it."""
        return int(self._backend.get_vocab_size())

    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each line, without bos and eos."""
        return [encoding.ids for encoding in self._backend.encode_batch_fast(lines, add_special_tokens=False)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids; special tokens and ids beyond the vocabulary stand for no text."""
        return str(self._backend.decode(list(ids)))

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """Return the text of each sequence of token ids, as `decode` does."""
        return list(self._backend.decode_batch([list(ids) for ids in batch]))


def _from_json(text: str) -> SubwordTokenizer:
    return SubwordTokenizer(Tokenizer.from_str(text))
