"""The embedded corpus: English and German sentence pairs generated from a grammar.

A meaning is drawn (`sampler`) and said in both languages (`english`, `german`), so that the two
sides are translations of each other, and one English sentence has one German one.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, final

from aiayn.data.grammar import english, german
from aiayn.data.grammar.sampler import SentenceSampler
from aiayn.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import datasets

    from aiayn.data.corpora.corpus import Split, Task

GRAMMAR_VERSION = 1
"""Goes up with every change that changes a sentence; a test knows the sentences of each version."""
MOST_SENTENCES = 1_000_000
"""Pairs that the grammar yields at most; more would differ in words alone, and they are held in memory."""

_SHORTEST, _LONGEST = 4, 30


def sentence_pairs(seed: str) -> Iterator[tuple[str, str]]:
    """Generate pairs of 4 to 30 words a side without end; the same seed gives the same pairs in any process."""
    sampler = SentenceSampler(seed)
    while True:
        meaning = sampler.sentence()
        source, target = english.realise(meaning), german.realise(meaning)
        if all(_SHORTEST <= side.count(" ") + 1 <= _LONGEST for side in (source, target)):
            yield source, target


def split_sizes(train: int, dev: int, test: int, *, at_most: int, said: str) -> dict[Split, int]:
    """How many sentences each split of a generated corpus has.

    Args:
        train: as data.sentences states.
        dev: as data.dev_sentences states.
        test: as data.test_sentences states.
        at_most: all together.
        said: the same in words.

    Raises:
        UserError: one is below one, or there are more than that.
    """
    for key, size in (("sentences", train), ("dev_sentences", dev), ("test_sentences", test)):
        if size < 1:
            raise UserError(f"data.{key}={size} must be at least 1")
    if train + dev + test > at_most:
        raise UserError(
            f"data.sentences={train}, with data.dev_sentences={dev} and data.test_sentences={test}, is more than "
            f"{said}; ask for fewer"
        )
    return {"train": train, "dev": dev, "test": test}


@final
class GrammarCorpus:
    """English-German pairs from the grammar, all different.

    Each split is drawn from its own stream. Dev holds the first pairs of its stream, so it depends on `seed` and
    `dev_sentences` alone, and more of them only adds pairs at its end. Test leaves out what is in dev, and train what
    is in either: no sentence of one split, English or German, is in another. `sentences` never changes dev or test.

    Args:
        sentences: Training pairs.
        dev_sentences: Development pairs.
        test_sentences: Test pairs.
        seed: Another seed is another corpus.

    Raises:
        UserError: A size is below one, or all together exceed `MOST_SENTENCES`.
    """

    task: ClassVar[Task] = "translation"
    source_language = "en"
    target_language = "de"

    def __init__(self, *, sentences: int, dev_sentences: int, test_sentences: int, seed: int) -> None:
        most = f"the {MOST_SENTENCES} pairs that the grammar yields"
        self._sizes = split_sizes(sentences, dev_sentences, test_sentences, at_most=MOST_SENTENCES, said=most)
        self._seed = seed

    @property
    def identity(self) -> str:
        """SHA-256 over the grammar's version and the settings."""
        return hashlib.sha256(json.dumps(self.origin, sort_keys=True).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, Any]:
        """The grammar's version and the settings, for a manifest."""
        return {"kind": "grammar", "version": GRAMMAR_VERSION, "seed": self._seed, "sizes": self._sizes}

    def split(self, split: Split) -> datasets.Dataset:
        """Return the split as a table with the text columns `source` and `target`, held in memory."""
        import datasets

        if split == "train":
            pairs = self._draw("train", [*self._dev, *self._test])
        else:
            pairs = self._dev if split == "dev" else self._test
        sources, targets = zip(*pairs, strict=True)
        return datasets.Dataset.from_dict({"source": list(sources), "target": list(targets)})

    @cached_property
    def _dev(self) -> list[tuple[str, str]]:
        return self._draw("dev", [])

    @cached_property
    def _test(self) -> list[tuple[str, str]]:
        return self._draw("test", self._dev)

    def _draw(self, split: Split, taken: list[tuple[str, str]]) -> list[tuple[str, str]]:
        sources, targets = ({pair[side] for pair in taken} for side in (0, 1))

        def new() -> Iterator[tuple[str, str]]:
            for source, target in sentence_pairs(f"{self._seed}/{split}"):
                if source not in sources and target not in targets:
                    sources.add(source)
                    targets.add(target)
                    yield source, target

        return list(islice(new(), self._sizes[split]))
