"""Two runs on the same sentences: significance tests, scores by kind of sentence, largest differences."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aiayn.config.report_schema import CompareConfig
from aiayn.data.corpora.corpus import HELD_OUT, Split
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.preparation.word_counts import training_counts
from aiayn.data.words import characters_of, words_of
from aiayn.evaluation.bleu import sentence_bleu
from aiayn.evaluation.chrf import chrf_scores, chrf_statistics
from aiayn.evaluation.lengths import length_parts
from aiayn.evaluation.paired import paired_test
from aiayn.evaluation.significance import Floats, ScoreOfSums, bleu_scores, perplexities, sentence_columns
from aiayn.evaluation.tokenization import bleu_tokenizer, is_by_character
from aiayn.reports.budgets import evaluated_budget_differences, evaluated_budgets
from aiayn.reports.code_versions import CodeVersion, code_versions, scoring_remarks, version_remarks
from aiayn.reports.comparability import Difference, score_differences
from aiayn.reports.evaluated_texts import corpus_of
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import signed, two_decimals
from aiayn.reports.paired_content import Bucket, CompareContent, Example, PairedRun, PairedRuns, WordClass
from aiayn.runs.evaluations import Evaluation, open_evaluation
from aiayn.runs.record import SplitScores, check_translations
from aiayn.system.progress import Bar

RARITY = (0, 9, 99, 999)
"""The most occurrences in training of the words of each class but the last."""

RARITY_LABELS = ("0", "1 to 9", "10 to 99", "100 to 999", "1000 or more")


@dataclass(frozen=True)
class Paired:
    """Two evaluations compared; differences are the first minus the second."""

    evaluations: tuple[Evaluation, Evaluation]
    versions: Sequence[CodeVersion]
    """The versions of the code that made both."""
    found: CompareContent
    """The comparison in numbers."""

    @property
    def recorded(self) -> SplitScores:
        """The scores of the first evaluation."""
        return self.evaluations[0].scores[self.found.split]


@dataclass(frozen=True)
class _Texts:
    """The sentences and their hypotheses."""

    data: PreparedData
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: tuple[Sequence[str], Sequence[str]]
    is_by_character: bool
    """Whether characters stand for words, in a language without spaces."""

    def split(self, line: str) -> list[str]:
        """The words of a line, or its characters."""
        return characters_of(line) if self.is_by_character else words_of(line)


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


def report_paired(config: CompareConfig, output: Path | None) -> None:
    """Print how two runs compare, or write it to a .md or .json file.

    Raises:
        UserError: the runs do not compare.
    """
    split = next(name for name in HELD_OUT if name == config.split)
    first, second = open_evaluation(config.run), open_evaluation(config.against, key="against")
    show(document(compare_two(first, second, split, config)), output)


def compare_two(first: Evaluation, second: Evaluation, split: Split, config: CompareConfig) -> Paired:
    """Compare two evaluations sentence by sentence.

    Raises:
        UserError: they do not compare, or a file is missing or damaged.
    """
    _check_comparable(first, second, split)
    rows = [evaluation.sentences(split) for evaluation in (first, second)]
    ours, theirs = map(sentence_columns, rows)
    bleu = np.array([[sentence_bleu(row.bleu_statistics) for row in each] for each in rows])
    scored, recorded, cache = _Scored((ours, theirs), bleu), first.scores[split], Path(config.paths.cache)
    texts, notes = _texts(first, second, split, cache), list(evaluated_budgets(first, second))
    measured: dict[str, tuple[Floats, Floats, ScoreOfSums]] = {
        "PPL": (ours, theirs, perplexities),
        recorded.bleu_name: (ours, theirs, bleu_scores),
    }
    if texts is None:
        notes.append(f"chrF, sentences and rare words: paths.cache={cache} does not hold the data; they are left out")
    else:
        of_first, of_second = (chrf_statistics(lines, texts.references) for lines in texts.hypotheses)
        measured["chrF"] = of_first, of_second, chrf_scores
    counts = _counts_of_words(texts) if texts else {}
    order = np.argsort(bleu[1] - bleu[0], kind="stable").tolist()
    evaluations = first, second
    versions = code_versions((each.directory.path, each.record) for each in evaluations)
    scoring = scoring_remarks((each.record.name, each.record, each.scores[split]) for each in evaluations)
    found = CompareContent(
        runs=PairedRuns(*(PairedRun(each.name, each.record.experiment, each.record.seed) for each in evaluations)),
        code=tuple(version.content for version in versions),
        split=split,
        tests={
            name: paired_test(*each, resamples=config.resamples, seed=config.seed) for name, each in measured.items()
        },
        signatures={name: score.signature for name, score in recorded.shown.items()},
        wins=int((bleu[0] > bleu[1]).sum()),
        losses=int((bleu[0] < bleu[1]).sum()),
        ties=int((bleu[0] == bleu[1]).sum()),
        by_length=list(_by_length(scored, [row.source_tokens for row in rows[0]])),
        by_rarest_word=list(_by_rarest_word(scored, texts, counts)) if texts else [],
        words=_word_classes(texts, counts) if texts else [],
        largest_wins=_examples(texts, bleu, order[: config.examples]) if texts else [],
        largest_losses=_examples(texts, bleu, order[::-1][: config.examples]) if texts else [],
        notes=[*scoring, *notes],
        unit="character" if texts and texts.is_by_character else "word",
    )
    return Paired(evaluations, versions, found)


def _check_comparable(first: Evaluation, second: Evaluation, split: Split) -> None:
    ours, theirs = first.of(split, key="run"), second.of(split, key="against")
    check_translations(ours, place=f"run={first.name}")
    own, other = first.record.data_fingerprint, second.record.data_fingerprint
    differences = [Difference("data", own, other)] if own != other else []
    differences += score_differences(ours, theirs, split)
    for difference in (*differences, *evaluated_budget_differences(first, second)):
        raise difference.refusal(f"run={first.name}", f"against={second.name}")


def _texts(first: Evaluation, second: Evaluation, split: Split, cache: Path) -> _Texts | None:
    data = corpus_of(first, cache) or corpus_of(second, cache)
    if data is None:
        return None
    lines = data.split(split, limit=first.scores[split].sentences)
    hypotheses = first.hypotheses(split), second.hypotheses(split)
    tokenizer = bleu_tokenizer(
        data.languages[1], pretokenized=data.pretokenized, stated=first.scores[split].bleu_tokenizer
    )
    return _Texts(
        data, lines.source_lines(), data.references(lines), hypotheses, is_by_character=is_by_character(tokenizer)
    )


def _by_length(scored: _Scored, lengths: Sequence[int]) -> Iterator[Bucket]:
    for inside in length_parts(lengths):
        part = list(compress(lengths, inside))
        yield scored.bucket(f"{min(part)} to {max(part)}", inside)


def _counts_of_words(texts: _Texts) -> dict[str, int]:
    """Occurrences in training of each word of the references."""
    wanted = {word for line in texts.references for word in texts.split(line)}
    with Bar("count words", total=len(texts.data.split("train")), unit=" sentences") as bar:
        return training_counts(texts.data, wanted, split=texts.split, advance=bar.advance)


def _by_rarest_word(scored: _Scored, texts: _Texts, counts: Mapping[str, int]) -> Iterator[Bucket]:
    """The sentences by the rarest word of the reference; those without words are left out."""
    rarest = [min((counts[word] for word in texts.split(line)), default=None) for line in texts.references]
    places = np.array([-1 if count is None else bisect_left(RARITY, count) for count in rarest])
    for place, label in enumerate(RARITY_LABELS):
        if (places == place).any():
            yield scored.bucket(label, places == place)


def _word_classes(texts: _Texts, counts: Mapping[str, int]) -> list[WordClass]:
    """Words of each class in the hypotheses, each at most as often as in its reference."""
    found = np.zeros((len(RARITY_LABELS), 3), dtype=np.int64)  # in the references, in both hypotheses
    for lines in zip(texts.references, *texts.hypotheses, strict=True):
        expected, *given = (Counter(texts.split(line)) for line in lines)
        for word, times in expected.items():
            found[bisect_left(RARITY, counts[word])] += [times, *(min(times, words[word]) for words in given)]
    of_each = zip(RARITY_LABELS, found.tolist(), strict=True)
    return [WordClass(label, size, (ours, theirs)) for label, (size, ours, theirs) in of_each if size]


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


def grids(paired: Paired) -> Iterator[Grid]:
    """Scores with their tests; by source length; by rare words; the sentences with the largest differences."""
    found, bleu, unit = paired.found, paired.recorded.bleu_name, paired.found.unit
    yield _scores(paired)
    yield _buckets("By source length in tokens", "length", found.by_length, bleu)
    if found.by_rarest_word:
        title = f"By how often training has the reference's rarest {unit}"
        yield _buckets(title, "times", found.by_rarest_word, bleu)
    if found.words:
        lines = [
            (each.label, f"{each.words:,}", *(f"{100 * count / each.words:.1f}" for count in each.found))
            for each in found.words
        ]
        headings = ("<times in training", f"{unit}s", "% found by A", "% found by B")
        yield Grid(f"{unit.title()}s of the references that the hypotheses have", headings, (tuple(lines),))
    for letter, examples in (("A", found.largest_wins), ("B", found.largest_losses)):
        if examples:
            yield _example_grid(f"Sentences on which {letter} is ahead most", examples)


def _scores(paired: Paired) -> Grid:
    lines = []
    for name, test in paired.found.tests.items():
        difference, low, high = (signed(value, 2) for value in (test.difference, test.low, test.high))
        scores, p_values = (test.first, test.second), (test.bootstrap_p, test.randomization_p)
        interval = f"{difference} [{low}, {high}]"
        lines.append((name, *map(two_decimals, scores), interval, *(f"{p:.4f}" for p in p_values)))
    headings = ("<score", "A", "B", "<A − B", "p, bootstrap", "p, randomisation")
    title = f"A against B on {paired.found.split}, {paired.recorded.sentences:,} sentences"
    return Grid(title, headings, (tuple(lines),))


def _buckets(title: str, key: str, buckets: Sequence[Bucket], bleu: str) -> Grid:
    lines = []
    for each in buckets:
        scores, difference = map(two_decimals, (*each.ppl, *each.bleu)), signed(each.bleu[0] - each.bleu[1], 2)
        lines.append((each.label, f"{each.sentences:,}", *scores, difference, f"{each.wins:,}", f"{each.losses:,}"))
    headings = ("PPL A", "PPL B", f"{bleu} A", f"{bleu} B", f"{bleu} A − B")
    return Grid(title, (f"<{key}", "sentences", *headings, "A better", "B better"), (tuple(lines),))


def _example_grid(title: str, examples: Sequence[Example]) -> Grid:
    groups = []
    for each in examples:
        first, second = zip(each.hypotheses, (f"{score:.1f}" for score in each.bleu), strict=True)
        texts = (("source", each.source, ""), ("reference", each.reference, ""), ("A", *first), ("B", *second))
        groups.append(tuple((str(each.number), *cells) for cells in texts))
    return Grid(title, ("line", "<", "<text", "BLEU"), tuple(groups))


def _remarks(paired: Paired) -> Iterator[str]:
    found = paired.found
    for letter, evaluation in zip("AB", paired.evaluations, strict=True):
        record, scored = evaluation.record, evaluation.scores[found.split]
        yield f"{letter}: {record.experiment}, seed {record.seed}, step {scored.origin}: {evaluation.name}"
    yield f"sentence BLEU: A better on {found.wins:,}, B on {found.losses:,}, equal on {found.ties:,}"
    yield from (f"{name}: {signature}" for name, signature in found.signatures.items() if name in found.tests)
    yield "intervals and p are of these sentences alone; what other seeds change: aiayn report comparison"
    yield from version_remarks(paired.versions)
    yield from found.notes


def document(paired: Paired) -> Document:
    """The comparison as plain data."""
    return Document(
        title="Two runs compared",
        written="Written by `aiayn compare` from the sentence scores and hypotheses of both.",
        grids=list(grids(paired)),
        remarks=list(_remarks(paired)),
        content=paired.found,
    )
