"""Counts of labelled brackets, and the scores that follow from them; who counts them knows trees."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BracketScores:
    """Counts over sentences from which the scores follow; they add up over parts of a corpus."""

    sentences: int = 0
    errors: int = 0
    """Sentences whose predicted tree has other words; not counted below."""
    skipped: int = 0
    """Sentences of nothing but punctuation; not counted below."""
    matched: int = 0
    """Brackets in both trees; below, those of each."""
    gold: int = 0
    predicted: int = 0
    exact: int = 0
    """Sentences all of whose brackets match."""
    crossing: int = 0
    """Predicted brackets that overlap one of the gold tree's, neither within the other."""
    uncrossed: int = 0
    """Sentences without one."""
    tagged: int = 0
    """Words whose tags were compared."""
    correct_tags: int = 0

    def __add__(self, other: "BracketScores") -> "BracketScores":
        names = (field.name for field in dataclasses.fields(self))
        return BracketScores(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def valid(self) -> int:
        """Sentences that were counted."""
        return self.sentences - self.errors - self.skipped

    @property
    def precision(self) -> float:
        """Predicted brackets that match, in percent."""
        return _percent(self.matched, self.predicted)

    @property
    def recall(self) -> float:
        """Gold brackets that match, in percent."""
        return _percent(self.matched, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, in percent."""
        return _percent(2 * self.matched, self.gold + self.predicted)

    @property
    def exact_match(self) -> float:
        """Sentences all of whose brackets match, in percent."""
        return _percent(self.exact, self.valid)

    @property
    def tagging_accuracy(self) -> float | None:
        """Words with the gold tree's tag, in percent; None if tags were not predicted."""
        return _percent(self.correct_tags, self.tagged) if self.tagged else None


@dataclass(frozen=True)
class SentenceBrackets:
    """One sentence."""

    length: int
    """Words of the gold tree, punctuation included, traces excluded."""
    scores: BracketScores


def total(sentences: Iterable[SentenceBrackets]) -> BracketScores:
    """The scores of some sentences together."""
    return sum((sentence.scores for sentence in sentences), BracketScores())


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
