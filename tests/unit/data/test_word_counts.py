"""Words are counted in the training text only, case-sensitively."""

from collections.abc import Callable
from pathlib import Path

from aiayn.data.corpora.corpus import Corpus
from aiayn.data.preparation.prepared import PreparationSettings, prepare
from aiayn.data.preparation.word_counts import training_counts


def test_counts_are_those_of_the_text(pairs_corpus: Callable[..., Corpus], tmp_path: Path) -> None:
    train = [("x", line) for line in ("Ein Hund, ein Hund-Haus.", "hunde", "(Hund) über Straße", "dropped " * 40)]
    corpus = pairs_corpus(train, dev=[("a", "Katze Hund")])
    data = prepare(corpus, settings=PreparationSettings(vocabulary_size=300, max_length=40), cache=tmp_path)
    told: list[int] = []
    counts = training_counts(data, {"Hund", "ein", "Katze", "über", "Straße", "dropped"}, advance=told.append)
    assert counts == {"Hund": 3, "ein": 1, "Katze": 0, "über": 1, "Straße": 1, "dropped": 0}
    assert sum(told) == len(data.split("train")) == 3
