"""The embedded corpora: sentence pairs and parse trees generated from a grammar.

`sampler` draws a meaning; `english` and `german` realise it. So both sides are translations of each other, and one
English sentence has one German translation.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, final

from aiayn.data.corpora.treebank import COLUMNS, TARGET_LANGUAGE, row
from aiayn.data.grammar import english, german
from aiayn.data.grammar.sampler import SentenceSampler
from aiayn.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import datasets

    from aiayn.data.corpora.corpus import Split, Task
    from aiayn.trees.tree import Tree

GRAMMAR_VERSION = 1
"""Incremented with every change of a sentence; a test pins the sentences of each version."""
TREES_VERSION = 1
"""Incremented with every change of a tree of the same sentences."""
MAX_PAIRS = 1_000_000
"""The grammar yields few more different pairs; they are held in memory."""
MAX_TREES = 200_000
"""They are held in memory."""

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


class _GeneratedCorpus:
    """Rows drawn from one stream per split, without repetition within and across splits.

    Dev has the first rows of its stream, so it depends on the seed and its own size only. Test excludes dev, and train
    excludes both: the size of train never changes dev or test.

    Args:
        sizes: Rows of train, dev and test.
        max_size: Largest sum of these, and its unit for error messages.
        columns: Names of the texts of a row.
        num_unique: How many columns, from the first, must not repeat a text.
        stream: Generates rows from a seed.
        origin: Kind, versions and settings.

    Raises:
        UserError: A size is below one, or their sum exceeds the maximum.
    """

    def __init__(
        self,
        sizes: tuple[int, int, int],
        *,
        max_size: tuple[int, str],
        columns: Sequence[str],
        num_unique: int,
        stream: Callable[[str], Iterator[tuple[str, ...]]],
        origin: dict[str, Any],
    ) -> None:
        train, dev, test = sizes
        for key, size in (("sentences", train), ("dev_sentences", dev), ("test_sentences", test)):
            if size < 1:
                raise UserError(f"data.{key}={size} must be at least 1")
        if sum(sizes) > max_size[0]:
            raise UserError(
                f"data.sentences={train}, with data.dev_sentences={dev} and data.test_sentences={test}, is more than "
                f"{max_size[0]} {max_size[1]}; ask for fewer"
            )
        self._sizes: dict[Split, int] = {"train": train, "dev": dev, "test": test}
        self._columns, self._num_unique, self._stream = columns, num_unique, stream
        self._origin = {**origin, "sizes": self._sizes}

    @property
    def identity(self) -> str:
        """SHA-256 over the grammar's versions and the settings."""
        return hashlib.sha256(json.dumps(self._origin, sort_keys=True).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, Any]:
        """The grammar's versions and the settings."""
        return self._origin

    def split(self, split: Split) -> datasets.Dataset:
        """Return the split as a table in memory."""
        import datasets

        if split == "train":
            rows = self._draw("train", [*self._dev, *self._test])
        else:
            rows = self._dev if split == "dev" else self._test
        columns = zip(*rows, strict=True)
        return datasets.Dataset.from_dict(dict(zip(self._columns, map(list, columns), strict=True)))

    @cached_property
    def _dev(self) -> list[tuple[str, ...]]:
        return self._draw("dev", [])

    @cached_property
    def _test(self) -> list[tuple[str, ...]]:
        return self._draw("test", self._dev)

    def _draw(self, split: Split, excluded: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        seen = [{texts[column] for texts in excluded} for column in range(self._num_unique)]

        def new_rows() -> Iterator[tuple[str, ...]]:
            for texts in self._stream(f"{self._origin['seed']}/{split}"):
                if not any(text in known for text, known in zip(texts, seen, strict=False)):
                    for text, known in zip(texts, seen, strict=False):
                        known.add(text)
                    yield texts

        return list(islice(new_rows(), self._sizes[split]))


@final
class GrammarCorpus(_GeneratedCorpus):
    """English-German sentence pairs; no sentence, English or German, repeats.

    Args:
        sentences: Training pairs.
        dev_sentences: Development pairs.
        test_sentences: Test pairs.
        seed: Random seed.

    Raises:
        UserError: A size is below one, or their sum exceeds `MAX_PAIRS`.
    """

    task: ClassVar[Task] = "translation"
    source_language = "en"
    target_language = "de"

    def __init__(self, *, sentences: int, dev_sentences: int, test_sentences: int, seed: int) -> None:
        super().__init__(
            (sentences, dev_sentences, test_sentences),
            max_size=(MAX_PAIRS, "pairs of the grammar"),
            columns=("source", "target"),
            num_unique=2,
            stream=sentence_pairs,
            origin={"kind": "grammar", "version": GRAMMAR_VERSION, "seed": seed},
        )


@final
class ToyTreesCorpus(_GeneratedCorpus):
    """English sentences and their trees; no sentence repeats.

    Args:
        sentences: Training trees.
        dev_sentences: Development trees.
        test_sentences: Test trees.
        seed: Random seed.
        tags: Whether targets have the words' tags instead of XX.

    Raises:
        UserError: A size is below one, or their sum exceeds `MAX_TREES`.
    """

    task: ClassVar[Task] = "parsing"
    source_language = "en"
    target_language = TARGET_LANGUAGE

    def __init__(self, *, sentences: int, dev_sentences: int, test_sentences: int, seed: int, tags: bool) -> None:
        versions = {"version": GRAMMAR_VERSION, "trees_version": TREES_VERSION}
        super().__init__(
            (sentences, dev_sentences, test_sentences),
            max_size=(MAX_TREES, "trees"),
            columns=COLUMNS,
            num_unique=1,
            stream=lambda seed: (row(tree, tags=tags) for tree in trees(seed)),
            origin={"kind": "toy_trees", **versions, "seed": seed, "tags": tags},
        )
