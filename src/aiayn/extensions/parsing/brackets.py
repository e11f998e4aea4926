"""Labelled bracketing of constituency trees, as EVALB with COLLINS.prm counts it (Sekine and Collins 1997).

A bracket is a constituent's label and the words that it spans. By EVALB's parameter file:

- TOP and constituents without words are no brackets. Labels end at the first "-" or "="; ADVP and PRT are one label.
- Traces (-NONE-) and punctuation (the tags , : `` '' and .) are removed first; -LRB-, $ and the like stay.
- Brackets are multisets: of a chain of n and one of m equal labels, the smaller number matches.
- Precision, recall and F1 are those of all brackets of a corpus together, not means over sentences.

One difference: EVALB removes punctuation by each tree's own tags, and reports an error if the remaining words differ.
Here the gold tree's tags decide for both, since the paper's parsers predict no tags.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, compress

from aiayn.data.grammar.tree import Span, Tree
from aiayn.evaluation.bracket_counts import BracketScores, SentenceBrackets, total
from aiayn.evaluation.lengths import length_parts

TRACE = "-NONE-"

DELETED = frozenset({"TOP", TRACE, ",", ":", "``", "''", "."})
"""COLLINS.prm's DELETE_LABEL: a tag of these is removed with its word, a constituent without its words."""

SIGNATURE = "labelled:yes|prm:collins|punctuation:gold"

CUTOFF_LENGTH = 40
"""COLLINS.prm's CUTOFF_LEN, in words including punctuation."""


def score_brackets(gold: Iterable[Tree], predicted: Iterable[Tree], *, tags: bool) -> BracketScores:
    """The scores of predicted trees against the gold trees of as many sentences.

    Args:
        gold: the trees of the treebank.
        predicted: of a parser, over the same words.
        tags: whether the predicted trees have tags, which are then scored.
    """
    return total(score_sentences(gold, predicted, tags=tags))


def score_sentences(gold: Iterable[Tree], predicted: Iterable[Tree], *, tags: bool) -> Iterator[SentenceBrackets]:
    """Each sentence alone; arguments as for `score_brackets`."""
    for gold_tree, predicted_tree in zip(gold, predicted, strict=True):
        yield _score_sentence(gold_tree, predicted_tree, tags=tags)


def scores_by_length(sentences: Sequence[SentenceBrackets]) -> dict[str, BracketScores]:
    """The scores by ranges of sentence length, and of sentences up to EVALB's cut-off."""
    scores = {}
    for inside in length_parts([sentence.length for sentence in sentences]):
        part = list(compress(sentences, inside))
        shortest, longest = (end(sentence.length for sentence in part) for end in (min, max))
        scores[f"{shortest}" if shortest == longest else f"{shortest} to {longest}"] = total(part)
    short = total(sentence for sentence in sentences if sentence.length <= CUTOFF_LENGTH)
    return scores | ({f"at most {CUTOFF_LENGTH}": short} if short.sentences else {})


def _score_sentence(gold: Tree, predicted: Tree, *, tags: bool) -> SentenceBrackets:
    gold_words, predicted_words = _words(gold), _words(predicted)
    scores = BracketScores(sentences=1)
    stays = [tag not in DELETED for _, tag in gold_words]
    if [word for word, _ in gold_words] != [word for word, _ in predicted_words]:
        scores = dataclasses.replace(scores, errors=1)
    elif not any(stays):
        scores = dataclasses.replace(scores, skipped=1)
    else:
        gold_brackets, predicted_brackets = _brackets(gold, stays), _brackets(predicted, stays)
        crossing = _crossing(gold_brackets, predicted_brackets)
        pairs = zip(gold_words, predicted_words, stays, strict=True)
        compared = [(own, other) for (_, own), (_, other), kept in pairs if kept and tags]
        scores = BracketScores(
            sentences=1,
            matched=(gold_brackets & predicted_brackets).total(),
            gold=gold_brackets.total(),
            predicted=predicted_brackets.total(),
            exact=int(gold_brackets == predicted_brackets),
            crossing=crossing,
            uncrossed=int(crossing == 0),
            tagged=len(compared),
            correct_tags=sum(_equal_label(own) == _equal_label(other) for own, other in compared),
        )
    return SentenceBrackets(len(gold_words), scores)


def _words(tree: Tree) -> list[tuple[str, str]]:
    """Words and tags of the sentence: all but the traces."""
    return [(word, tag) for word, tag in zip(tree.words(), tree.tags(), strict=True) if tag != TRACE]


def _brackets(tree: Tree, stays: Sequence[bool]) -> "Counter[Span]":
    """The brackets that count; `stays`: for each word except traces, whether it counts."""
    words = iter(stays)
    before = [0, *accumulate(int(tag != TRACE and next(words)) for tag in tree.tags())]
    brackets = (Span(_trimmed(span.label), before[span.start], before[span.end]) for span in tree.spans())
    return Counter(
        Span(_equal_label(bracket.label), bracket.start, bracket.end)
        for bracket in brackets
        if bracket.start < bracket.end and bracket.label not in DELETED
    )


def _trimmed(label: str) -> str:
    """A constituent's label without function tags and indices."""
    return label.partition("-")[0].partition("=")[0]


def _equal_label(label: str) -> str:
    """COLLINS.prm's EQ_LABEL, of constituents and tags."""
    return "ADVP" if label == "PRT" else label


def _crossing(gold: "Counter[Span]", predicted: "Counter[Span]") -> int:
    """Predicted brackets that cross one of the gold tree."""
    spans = {(span.start, span.end) for span in gold}
    return sum(
        count
        for span, count in predicted.items()
        if (span.start, span.end) not in spans
        and any(start < span.start < end < span.end or span.start < start < span.end < end for start, end in spans)
    )
