"""A corpus in memory, and a prepared one."""

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import ClassVar, TypeAlias

import pytest

from aiayn.data.corpora.corpus import Split, Task
from aiayn.data.preparation.prepared import PreparationSettings, PreparedData, prepare

Pairs: TypeAlias = Iterable[tuple[str, str]]


class PairsCorpus:
    """A corpus of given pairs; dev and test are a fixed handful where none are given."""

    task: ClassVar[Task] = "translation"
    source_language = "en"
    target_language = "de"

    def __init__(
        self, train: Pairs, dev: Pairs = (("a dog", "ein Hund"), ("", "")), test: Pairs = (("a", "b"),)
    ) -> None:
        self._pairs = {"train": list(train), "dev": list(dev), "test": list(test)}

    @property
    def identity(self) -> str:
        return hashlib.sha256(repr(self._pairs).encode()).hexdigest()

    @property
    def origin(self) -> dict[str, str]:
        return {"kind": "pairs"}

    def rows(self, split: Split, *, start: int = 0) -> Iterator[tuple[str, str]]:
        return islice(self._pairs[split], start, None)

    def size(self, split: Split) -> int:
        return len(self._pairs[split])


@pytest.fixture(scope="session")
def pairs_corpus() -> Callable[..., PairsCorpus]:
    """The class, for tests that bring their own pairs."""
    return PairsCorpus


@pytest.fixture(scope="session")
def some_prepared(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    """Some 90 pairs of 1 to 12 words."""
    rng = random.Random(7)
    words = ["der", "Hund", "läuft", "über", "die", "Straße", "a", "small", "house", "stands", "there"]
    lines = [" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(180)]
    corpus = PairsCorpus(zip(lines[:90], lines[90:], strict=True))
    settings = PreparationSettings(vocabulary_size=300, max_length=64)
    return prepare(corpus, settings=settings, cache=tmp_path_factory.mktemp("cache"))
