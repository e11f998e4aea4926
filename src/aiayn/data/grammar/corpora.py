"""The embedded corpus: sentence pairs generated from a grammar, and its sentences as trees.

`sampler` draws a meaning; `english` and `german` realise it. So both sides are translations of each other, and one
English sentence has one German translation.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, TypeAlias, final

from aiayn.data.corpora.corpus import Split, Task
from aiayn.data.grammar import english, german
from aiayn.data.grammar.sampler import SentenceSampler
from aiayn.data.grammar.tree import Tree
from aiayn.errors import UserError

Row: TypeAlias = tuple[str, ...]

GRAMMAR_VERSION = 1
"""Incremented with every change of a sentence; a test pins the sentences of each version."""
MAX_PAIRS = 1_000_000
"""The grammar yields few more different pairs; their texts are held in memory."""

_SHORTEST, _LONGEST = 4, 30  # words of a side


def sentence_pairs(seed: str) -> Iterator[tuple[str, str]]:
    """Generate an endless stream of pairs of 4 to 30 words a side, the same in any process."""
    sampler = SentenceSampler(seed)
    while True:
        meaning = sampler.sentence()
        source, target = english.realise(meaning), german.realise(meaning)
        if all(_SHORTEST <= side.count(" ") + 1 <= _LONGEST for side in (source, target)):
            yield source, target


def trees(seed: str) -> Iterator[Tree]:
    """Generate an endless stream of trees of English sentences, the same in any process."""
    sampler = SentenceSampler(seed)
    while True:
        yield english.parse(sampler.sentence())


class GeneratedCorpus(ABC):
    """Rows drawn from one stream per split, without repetition within and across splits.

    Dev has the first rows of its stream, so it depends on the seed and its own size only. Test excludes dev, and train
    excludes both: the size of train never changes dev or test.

    Raises:
        UserError: There are too many sentences.
    """

    source_language = "en"
    _most: ClassVar[tuple[int, str]]
    """Largest number of rows, and their name in errors."""
    _num_unique: ClassVar[int]
    """The number of texts of a row, from the first, that must not repeat."""

    def __init__(self, *, sentences: int, dev_sentences: int, test_sentences: int, seed: int) -> None:
        if sentences + dev_sentences + test_sentences > self._most[0]:
            raise UserError(
                f"data.sentences={sentences}, with data.dev_sentences={dev_sentences} and data.test_sentences="
                f"{test_sentences}, is more than {self._most[0]} {self._most[1]}; ask for fewer"
            )
        self._sizes: dict[Split, int] = {"train": sentences, "dev": dev_sentences, "test": test_sentences}
        self._seed = seed

    @property
    @abstractmethod
    def origin(self) -> dict[str, Any]:
        """The grammar's versions and the settings."""

    @abstractmethod
    def _stream(self, seed: str) -> Iterator[Row]:
        """Generate endless rows."""

    @property
    def identity(self) -> str:
        """SHA-256 over the grammar's versions and the settings."""
        return hashlib.sha256(json.dumps(self.origin, sort_keys=True).encode()).hexdigest()

    def rows(self, split: Split, *, start: int = 0) -> Iterator[Row]:
        """Generate the rows of a split."""
        held_out = {"dev": self._dev, "test": self._test}
        rows = iter(held_out[split]) if split in held_out else self._draw("train", [*self._dev, *self._test])
        return islice(rows, start, None)

    def size(self, split: Split) -> int:
        """Return the number of rows of a split."""
        return self._sizes[split]

    @cached_property
    def _dev(self) -> list[Row]:
        return list(self._draw("dev", []))

    @cached_property
    def _test(self) -> list[Row]:
        return list(self._draw("test", self._dev))

    def _draw(self, split: Split, excluded: list[Row]) -> Iterator[Row]:
        """Generate rows whose unique texts are neither repeated nor excluded."""
        seen = [{texts[column] for texts in excluded} for column in range(self._num_unique)]

        def new_rows() -> Iterator[Row]:
            for texts in self._stream(f"{self._seed}/{split}"):
                unique = list(zip(texts, seen, strict=False))
                if not any(text in known for text, known in unique):
                    for text, known in unique:
                        known.add(text)
                    yield texts

        return islice(new_rows(), self._sizes[split])


@final
class GrammarCorpus(GeneratedCorpus):
    """English-German sentence pairs; no sentence, English or German, repeats."""

    task: ClassVar[Task] = "translation"
    target_language = "de"
    _most = MAX_PAIRS, "pairs of the grammar"
    _num_unique = 2

    @property
    def origin(self) -> dict[str, Any]:
        """The grammar's version and the settings."""
        return {"kind": "grammar", "version": GRAMMAR_VERSION, "seed": self._seed, "sizes": self._sizes}

    def _stream(self, seed: str) -> Iterator[Row]:
        return sentence_pairs(seed)
