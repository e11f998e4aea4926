"""The embedded treebank: trees of the English side of the embedded corpus."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, final

from aiayn.data.corpora.treebank import COLUMNS, TARGET_LANGUAGE, row
from aiayn.data.grammar import english
from aiayn.data.grammar.corpus import GRAMMAR_VERSION, split_sizes
from aiayn.data.grammar.sampler import SentenceSampler

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import datasets

    from aiayn.data.corpora.corpus import Split, Task
    from aiayn.trees.tree import Tree

TREES_VERSION = 1
"""Goes up with every change that changes a tree, beside `GRAMMAR_VERSION`; a test knows the trees of each version."""
MOST_TREES = 200_000
"""In all splits together; they are held in memory."""


def trees(seed: str) -> Iterator[Tree]:
    """Generate trees without end; the same seed gives the same ones in any process."""
    sampler = SentenceSampler(seed)
    while True:
        yield english.parse(sampler.sentence())


@final
class ToyTreesCorpus:
    """Sentences and their trees from the grammar; no sentence of one split is in another, or twice in one.

    Dev and test depend on `seed` and their own sizes alone.

    Args:
        sentences: Training trees.
        dev_sentences: Development trees.
        test_sentences: Test trees.
        seed: Another seed is another corpus.
        tags: Whether targets have the words' tags, instead of XX.

    Raises:
        UserError: A size is below one, or all together exceed `MOST_TREES`.
    """

    task: ClassVar[Task] = "parsing"
    source_language = "en"
    target_language = TARGET_LANGUAGE

    def __init__(self, *, sentences: int, dev_sentences: int, test_sentences: int, seed: int, tags: bool) -> None:
        self._sizes = split_sizes(
            sentences, dev_sentences, test_sentences, at_most=MOST_TREES, said=f"{MOST_TREES} trees"
        )
        self._seed = seed
        self._tags = tags

    @property
    def identity(self) -> str:
        """SHA-256 over the grammar's versions and the settings."""
        return hashlib.sha256(json.dumps(self.origin, sort_keys=True).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, Any]:
        """The grammar's versions and the settings, for a manifest."""
        return {
            "kind": "toy_trees",
            "version": GRAMMAR_VERSION,
            "trees_version": TREES_VERSION,
            "seed": self._seed,
            "sizes": self._sizes,
            "tags": self._tags,
        }

    def split(self, split: Split) -> datasets.Dataset:
        """Return the split as a table with the text columns `COLUMNS`, held in memory."""
        import datasets

        if split == "train":
            rows = self._draw("train", {source for source, *_ in (*self._dev, *self._test)})
        else:
            rows = self._dev if split == "dev" else self._test
        columns = zip(*rows, strict=True)
        return datasets.Dataset.from_dict(dict(zip(COLUMNS, map(list, columns), strict=True)))

    @cached_property
    def _dev(self) -> list[tuple[str, str, str]]:
        return self._draw("dev", ())

    @cached_property
    def _test(self) -> list[tuple[str, str, str]]:
        return self._draw("test", {source for source, *_ in self._dev})

    def _draw(self, split: Split, taken: Collection[str]) -> list[tuple[str, str, str]]:
        seen = set(taken)

        def new() -> Iterator[tuple[str, str, str]]:
            for tree in trees(f"{self._seed}/{split}"):
                texts = row(tree, tags=self._tags)
                if texts[0] not in seen:
                    seen.add(texts[0])
                    yield texts

        return list(islice(new(), self._sizes[split]))
