"""Two runs on the same sentences: significance tests, scores by kind of sentence, largest differences."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aiayn.data.corpora.corpus import Split
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.preparation.word_counts import training_counts, words_of
from aiayn.evaluation.bleu import sentence_bleu
from aiayn.evaluation.chrf import chrf_scores, chrf_statistics
from aiayn.evaluation.lengths import length_parts
from aiayn.evaluation.paired import PairedTest, ScoreOfSums, paired_test
from aiayn.evaluation.sentences import SentenceScores
from aiayn.evaluation.significance import Floats, bleu_scores, perplexities, sentence_columns
from aiayn.reports.comparability import Difference, score_differences
from aiayn.reports.evaluated_texts import corpus_of
from aiayn.runs.evaluations import Evaluation
from aiayn.runs.record import refuse_trees
from aiayn.system.progress import Bar

RARITY = (0, 9, 99, 999)
"""The most occurrences in training of the words of each class; the last class has no such bound."""


@dataclass(frozen=True)
class Bucket:
    """Some of the sentences."""

    label: str
    sentences: int
    ppl: tuple[float, float]
    """Of both runs."""
    bleu: tuple[float, float]
    wins: int
    """Sentences on which the first run has the higher sentence BLEU."""
    losses: int


@dataclass(frozen=True)
class WordClass:
    """Words of the references, by their frequency in training."""

    label: str
    words: int
    """Occurrences in the references."""
    found: tuple[int, int]
    """In the hypothesis of their sentence, by both runs."""


@dataclass(frozen=True)
class Example:
    """One sentence."""

    number: int
    """Its line in the split, from 1."""
    source: str
    reference: str
    hypotheses: tuple[str, str]
    bleu: tuple[float, float]
    """Sentence BLEU, 0 to 100."""


@dataclass(frozen=True)
class Paired:
    """Two evaluations compared; differences are the first minus the second."""

    evaluations: tuple[Evaluation, Evaluation]
    split: Split
    tests: Mapping[str, PairedTest]
    """By the name of the score."""
    signatures: Mapping[str, str]
    """By score; perplexity has none."""
    wins: int
    losses: int
    ties: int
    by_length: Sequence[Bucket]
    by_rarest_word: Sequence[Bucket]
    words: Sequence[WordClass]
    largest_wins: Sequence[Example]
    largest_losses: Sequence[Example]
    notes: Sequence[str]
    """Reasons for missing parts."""


@dataclass(frozen=True)
class _Texts:
    """The sentences and their hypotheses."""

    data: PreparedData
    sources: Sequence[str]
    source_lengths: Sequence[int]
    """In tokens, end mark included."""
    references: Sequence[str]
    hypotheses: tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True)
class _Scored:
    """Statistics and sentence BLEU of both runs."""

    columns: Sequence[Floats]
    bleu: Floats
    """[2, sentences]."""

    def bucket(self, label: str, inside: NDArray[np.bool_]) -> Bucket:
        sums = np.stack([columns[inside].sum(axis=0) for columns in self.columns])
        ppl, bleu = (tuple(score(sums).tolist()) for score in (perplexities, bleu_scores))
        ours, theirs = self.bleu[:, inside]
        return Bucket(label, int(inside.sum()), ppl, bleu, int((ours > theirs).sum()), int((ours < theirs).sum()))


def compare_two(
    first: Evaluation,
    second: Evaluation,
    split: Split,
    *,
    cache: Path,
    examples: int,
    resamples: int,
    seed: int,
) -> Paired:
    """Compare two evaluations sentence by sentence.

    Args:
        first: of one run.
        second: of the other run.
        split: dev or test.
        cache: may hold the corpus.
        examples: the number of largest wins, and of largest losses, to show.
        resamples: see `aiayn.evaluation.paired`.
        seed: of the resamples.

    Raises:
        UserError: they do not compare, or a file is missing or damaged.
    """
    _check_comparable(first, second, split)
    rows = [evaluation.sentences(split) for evaluation in (first, second)]
    scored = _Scored(
        [sentence_columns(each) for each in rows],
        np.array([[sentence_bleu(row.bleu_statistics) for row in each] for each in rows]),
    )
    bleu, recorded, texts = scored.bleu, first.scores[split], _texts(first, second, split, cache)
    notes = []
    ours, theirs = scored.columns
    measured: dict[str, tuple[Floats, Floats, ScoreOfSums]] = {
        "PPL": (ours, theirs, perplexities),
        recorded.bleu_name: (ours, theirs, bleu_scores),
    }
    if texts is None:
        notes.append(f"chrF, sentences and rare words: paths.cache={cache} does not hold the data; they are left out")
    else:
        of_first, of_second = (chrf_statistics(lines, texts.references) for lines in texts.hypotheses)
        measured["chrF"] = of_first, of_second, chrf_scores
    tests = {name: paired_test(*each, resamples=resamples, seed=seed) for name, each in measured.items()}
    lengths = _source_lengths(rows[0], texts)
    if lengths is None:
        notes.append("by source length: this evaluation did not record it; evaluate again to get it")
    counts = _counts_of_words(texts) if texts else {}
    order = np.argsort(bleu[1] - bleu[0], kind="stable").tolist()
    return Paired(
        evaluations=(first, second),
        split=split,
        tests=tests,
        signatures={name: score.signature for name, score in recorded.shown.items()},
        wins=int((bleu[0] > bleu[1]).sum()),
        losses=int((bleu[0] < bleu[1]).sum()),
        ties=int((bleu[0] == bleu[1]).sum()),
        by_length=[] if lengths is None else list(_by_length(scored, lengths)),
        by_rarest_word=list(_by_rarest_word(scored, texts, counts)) if texts else [],
        words=_word_classes(texts, counts) if texts else [],
        largest_wins=_examples(texts, bleu, order[:examples]) if texts else [],
        largest_losses=_examples(texts, bleu, order[::-1][:examples]) if texts else [],
        notes=notes,
    )


def _check_comparable(first: Evaluation, second: Evaluation, split: Split) -> None:
    ours, theirs = first.of(split, key="run"), second.of(split, key="against")
    refuse_trees(ours, place=f"run={first.name}")
    own, other = first.record.data_fingerprint, second.record.data_fingerprint
    differences = [Difference("data", own, other)] if own != other else []
    for difference in (*differences, *score_differences(ours, theirs, split)):
        raise difference.refusal(f"run={first.name}", f"against={second.name}")


def _texts(first: Evaluation, second: Evaluation, split: Split, cache: Path) -> _Texts | None:
    data = corpus_of(first, cache) or corpus_of(second, cache)
    if data is None:
        return None
    lines = data.split(split, limit=first.scores[split].sentences)
    hypotheses = first.hypotheses(split), second.hypotheses(split)
    return _Texts(data, lines.source_lines(), lines.source.lengths.tolist(), lines.target_lines(), hypotheses)


def _source_lengths(rows: Sequence[SentenceScores], texts: _Texts | None) -> Sequence[int] | None:
    """Tokens of each source, end mark included; None if neither the evaluation nor a corpus has them."""
    if texts is not None:
        return texts.source_lengths
    recorded = [row.source_tokens for row in rows if row.source_tokens is not None]
    return recorded if len(recorded) == len(rows) else None


def _by_length(scored: _Scored, lengths: Sequence[int]) -> Iterator[Bucket]:
    for inside in length_parts(lengths):
        part = list(compress(lengths, inside))
        yield scored.bucket(f"{min(part)} to {max(part)}", inside)


def _counts_of_words(texts: _Texts) -> dict[str, int]:
    """Occurrences in training of each word of the references."""
    wanted = {word for line in texts.references for word in words_of(line)}
    with Bar("count words", total=len(texts.data.split("train")), unit=" sentences") as bar:
        return training_counts(texts.data, wanted, advance=bar.advance)


def _by_rarest_word(scored: _Scored, texts: _Texts, counts: Mapping[str, int]) -> Iterator[Bucket]:
    """The sentences by the rarest word of the reference; those without words are left out."""
    rarest = [min((counts[word] for word in words_of(line)), default=None) for line in texts.references]
    places = np.array([-1 if count is None else bisect_left(RARITY, count) for count in rarest])
    for place, label in enumerate(rarity_labels()):
        if (places == place).any():
            yield scored.bucket(label, places == place)


def _word_classes(texts: _Texts, counts: Mapping[str, int]) -> list[WordClass]:
    """Words of each class in the hypotheses, each at most as often as in its reference."""
    found = np.zeros((len(RARITY) + 1, 3), dtype=np.int64)  # in the references, in both hypotheses
    for lines in zip(texts.references, *texts.hypotheses, strict=True):
        expected, *given = (Counter(words_of(line)) for line in lines)
        for word, times in expected.items():
            place = bisect_left(RARITY, counts[word])
            found[place] += [times, *(min(times, words[word]) for words in given)]
    of_each = zip(rarity_labels(), found.tolist(), strict=True)
    return [WordClass(label, size, (ours, theirs)) for label, (size, ours, theirs) in of_each if size]


def rarity_labels() -> list[str]:
    """The classes of words, by occurrences in training."""
    lowest = [0, *(bound + 1 for bound in RARITY)]
    pairs = zip(lowest, RARITY, strict=False)
    return [*(str(low) if low == high else f"{low} to {high}" for low, high in pairs), f"{lowest[-1]} or more"]


def _examples(texts: _Texts, bleu: Floats, numbers: Sequence[int]) -> list[Example]:
    """The sentences of these numbers, except those with equal scores."""
    ours, theirs = texts.hypotheses
    return [
        Example(
            number + 1,
            texts.sources[number],
            texts.references[number],
            (ours[number], theirs[number]),
            (float(bleu[0, number]), float(bleu[1, number])),
        )
        for number in numbers
        if bleu[0, number] != bleu[1, number]
    ]
