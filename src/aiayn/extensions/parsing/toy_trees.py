"""The embedded treebank: trees of English sentences, generated from the grammar of the embedded corpus."""

from collections.abc import Iterator
from typing import Any, ClassVar, final

from aiayn.data.corpora.corpus import Task
from aiayn.data.grammar.corpora import GRAMMAR_VERSION, GeneratedCorpus, Row, trees
from aiayn.extensions.parsing.treebank import TARGET_LANGUAGE, row

TREES_VERSION = 1
"""Incremented with every change of a tree; a test pins the trees of each version."""
MAX_TREES = 200_000


@final
class ToyTreesCorpus(GeneratedCorpus):
    """English sentences and their trees; no sentence repeats. `tags`: targets have the words' tags instead of XX."""

    task: ClassVar[Task] = "parsing"
    target_language = TARGET_LANGUAGE
    _most = MAX_TREES, "trees"
    _num_unique = 1

    def __init__(self, *, tags: bool, **sizes_and_seed: int) -> None:
        super().__init__(**sizes_and_seed)
        self._tags = tags

    @property
    def origin(self) -> dict[str, Any]:
        """The grammar's versions and the settings."""
        versions = {"version": GRAMMAR_VERSION, "trees_version": TREES_VERSION}
        return {"kind": "toy_trees", **versions, "seed": self._seed, "tags": self._tags, "sizes": self._sizes}

    def _stream(self, seed: str) -> Iterator[Row]:
        return (row(tree, tags=self._tags) for tree in trees(seed))
