"""Table 4 with ours beside the paper's parsers: F1 of labelled brackets on the test set."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from typing_extensions import TypedDict

from aiayn.config.report_schema import ReportConfig
from aiayn.evaluation.bracket_counts import BracketScores, SentenceBrackets
from aiayn.extensions.parsing.brackets import scores_by_length
from aiayn.paper.tables import Parser, load_table4
from aiayn.reports.code_versions import code_versions, scoring_remarks, version_remarks
from aiayn.reports.comparability import (
    Difference,
    check_alike,
    check_duplicate_seeds,
    condition_differences,
    setting_differences,
    sizes_remark,
    tested_differences,
)
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Column, Grid
from aiayn.reports.numbers import mean_text, two_decimals
from aiayn.reports.reported_runs import ReportedRun, RunProvenance, read_runs
from aiayn.reports.systems import System, systems
from aiayn.runs.cost import RunCost
from aiayn.runs.evaluations import Evaluation, other_searches
from aiayn.runs.record import RecordedBrackets, RecordedSearch, SplitScores

PREFIX = "table4/"

ROWS = {"wsj_only": "transformer_wsj", "semi_supervised": "transformer_semi"}
"""Of the table, by experiment."""

WSJ = "wsj"
"""The Wall Street Journal part of the Penn Treebank, in the standard split."""

SILVER = "_silver"
"""Ends the name of a treebank that adds parsers' trees to the training data; the test set is the same."""

SIZES = ("model.num_layers", "model.d_model")
"""Keys of the sizes that section 6.3 states."""

SENTENCES_OF_SECTION_23 = 2416

SENTENCES_OF_SECTIONS_02_TO_21 = 39832

OTHER_SIZES = "*"
"""Marks numbers of ours that are not of the paper's sizes."""

REMEDY = "move one of them elsewhere"
"""If two runs of an experiment do not compare."""


@dataclass(frozen=True)
class ParserRun(ReportedRun):
    """A run of an experiment of the table."""

    @property
    def experiment(self) -> str:
        """Its name within the table."""
        return self.record.experiment.removeprefix(PREFIX)

    @property
    def treebank(self) -> str:
        """The treebank that it was tested on."""
        return self.record.data.removesuffix(SILVER)

    @property
    def f1(self) -> float | None:
        """F1 of the test set by its own search; None until it has finished."""
        return None if self.brackets is None else self.brackets.f1

    @property
    def brackets(self) -> RecordedBrackets | None:
        """The brackets of the test set; None until the run has finished."""
        return None if self.test is None else self.test.brackets

    def brackets_by_sentence(self, scores: SplitScores) -> list[SentenceBrackets]:
        """The brackets of each sentence of the test set by one search; UserError if their file is damaged."""
        evaluation = Evaluation(self.entry.directory, self.record, {"test": scores}, str(self.path))
        return [row.brackets for row in evaluation.sentences("test") if row.brackets is not None]

    @cached_property
    def gold(self) -> list[tuple[int, int]]:
        """Words and brackets of each gold tree of the test set; empty until the run has finished."""
        found = self.brackets_by_sentence(self.test) if self.test else []
        return [(sentence.length, sentence.scores.gold) for sentence in found]

    @property
    def searches(self) -> Sequence[SplitScores]:
        """The test set by the run's own search, then by those of `aiayn evaluate` with the same weights."""
        return [] if self.test is None else [self.test, *other_searches(self.entry.directory, "test", self.test)]

    @property
    def is_on_section_23(self) -> bool:
        """Whether its test set is the paper's, by name and size."""
        return self.treebank == WSJ and self.test is not None and self.test.sentences == SENTENCES_OF_SECTION_23


class NoScores(TypedDict):
    """The scores of a run that has not finished."""


@dataclass(frozen=True)
class LengthContent:
    """The sentences of some lengths."""

    sentences: int
    """The number of sentences."""
    f1: float
    """F1 of labelled brackets."""


@dataclass(frozen=True)
class SearchContent:
    """The test set by one search."""

    search: RecordedSearch | None
    """The settings of the search; None if unknown."""
    scores: RecordedBrackets | None
    """The scores of the trees that it found; None for translations."""
    f1_by_length: Mapping[str, LengthContent]
    """F1 by words of the sentence."""


@dataclass(frozen=True)
class ParserRunContent(RunProvenance):
    """A run of an experiment of the table."""

    is_on_section_23: bool
    """Whether its test set is the paper's, by name and size."""
    sentences: int | None
    """The number of sentences of its test set; None until the run has finished."""
    scores: RecordedBrackets | NoScores
    """The scores by the run's own search; empty until the run has finished."""
    searches: tuple[SearchContent, ...]
    """The test set by the run's own search, then by those of aiayn evaluate with the same weights."""
    cost: RunCost
    """The cost of the run."""


@dataclass(frozen=True)
class Table4Content(Content):
    """Table 4: aiayn report table4."""

    schema: ClassVar = "table4/1"

    paper: Mapping[str, float]
    """The paper's F1, by parser."""
    ours: tuple[ParserRunContent, ...]
    """Our runs, finished or not."""
    remarks: tuple[str, ...]
    """Remarks on the table."""


Parsers = Sequence[System[ParserRun]]
"""The table's experiments, each on a treebank of its own: the paper's first, and in the table's order."""


def report_table4(config: ReportConfig, output: Path | None) -> None:
    """Print the table, or write it to a .md, .tex or .json file."""
    show(document(read_table4(Path(config.paths.runs), scale=config.only.scale, data=config.only.data)), output)


def read_table4(runs: Path, *, scale: str | None, data: str | None) -> Parsers:
    """The runs of the table's experiments below a folder, which may be missing.

    Raises:
        UserError: seeds of one experiment do not compare, or a file cannot be read.
    """
    chosen = read_runs(ParserRun, runs, [f"{PREFIX}{name}" for name in ROWS], scale=scale, data=data)
    chosen.sort(key=lambda run: (run.treebank != WSJ, run.treebank))
    parsers = systems(chosen, lambda run: (run.experiment, run.treebank), split="test")
    for _, of_treebank in groupby(parsers, key=_treebank):
        _check_treebank([each.finished for each in of_treebank])
    return parsers


def _treebank(parser: System[ParserRun]) -> str:
    return parser.runs[0].treebank


def _compares_with_paper(parser: System[ParserRun]) -> bool:
    """Whether treebank and, of finished runs, test set are the paper's."""
    return _treebank(parser) == WSJ and all(run.is_on_section_23 for run in parser.finished)


def _by_search(parser: System[ParserRun]) -> dict[str, list[tuple[ParserRun, SplitScores]]]:
    """The finished runs and their scores by each search; the runs' own search first."""
    found: dict[str, list[tuple[ParserRun, SplitScores]]] = {}
    for run in parser.finished:
        own, *others = run.searches
        for scores in (own, *others):
            found.setdefault(_search_text(scores.search, own.search), []).append((run, scores))
    return found


def _check_treebank(experiments: Sequence[Sequence[ParserRun]]) -> None:
    """Refuse runs on one treebank that do not compare; the two experiments differ in data and settings."""
    finished = [run for runs in experiments for run in runs]
    check_alike(finished, lambda *runs: (each for each in condition_differences(*runs) if each.key == "scale"))
    for runs in experiments:
        check_alike(runs, _differences, f"no column holds both; {REMEDY}")
        check_duplicate_seeds(runs, lambda run: run.experiment, REMEDY)
    remedy = "name one of the treebanks with data.name=, or choose with only.data="
    check_alike(finished, _gold_differences, remedy)


def _differences(run: ParserRun, other: ParserRun) -> Iterator[Difference]:
    yield from condition_differences(run, other)
    yield from setting_differences(run, other)
    yield from tested_differences(run, other)


def _gold_differences(run: ParserRun, other: ParserRun) -> Iterator[Difference]:
    if run.gold != other.gold:
        own, theirs = (f"{len(each.gold)} trees of {each.record.data}" for each in (run, other))
        yield Difference("data.test", own, theirs)


def _search_text(search: RecordedSearch | None, own: RecordedSearch | None) -> str:
    """A search in a table: its beam size, and its differences from the run's own."""
    if search is None or own is None:
        return ""
    parts = [f"beam {search.beam_size}"]
    if search.length_penalty_alpha != own.length_penalty_alpha:
        parts.append(f"alpha {search.length_penalty_alpha:g}")
    if search.length_penalty != own.length_penalty:
        parts.append(f"length penalty {search.length_penalty}")
    if search.max_extra_length != own.max_extra_length:
        parts.append(f"input + {search.max_extra_length}")
    if search.eos_within != own.eos_within:
        parts.append(f"eos within {search.eos_within}")
    if search.constrained:
        parts.append("constrained")
    elif own.constrained:
        parts.append("not constrained")
    return ", ".join(parts)


def document(parsers: Parsers) -> Document:
    """The report as plain data."""
    lines, runs = list(remarks(parsers)), [run for each in parsers for run in each.runs]
    paper = {row.id: row.f1.number for row in load_table4().rows}
    return Document(
        title="Table 4",
        written="Written by `aiayn report table4` from the records of the runs.",
        grids=list(grids(parsers)),
        remarks=lines,
        runs=[run.path for run in runs],
        content=Table4Content(paper, tuple(map(_content, runs)), tuple(lines)),
    )


def grids(parsers: Parsers) -> Iterator[Grid]:
    """The table; ours by treebank, and by sentence length."""
    table, finished = load_table4(), [each for each in parsers if each.finished]
    by_group = groupby(table.rows, key=lambda row: row.group)
    columns: Sequence[Column[Parser]] = (
        Column("<parser", lambda row: row.label),
        Column("<training", lambda row: row.group),
        Column(table.columns[0].heading, lambda row: str(row.f1)),
        Column("ours", partial(_our_cell, parsers)),
    )
    yield Grid.of(table.caption.title, columns, *(list(group) for _, group in by_group))
    if finished:
        yield _by_treebank(finished)
    for treebank, of_treebank in groupby(finished, key=_treebank):
        yield _by_length(treebank, list(of_treebank))


def _our_cell(parsers: Parsers, row: Parser) -> str:
    """Our F1 of a row or the state of its runs; empty if it does not compare with the paper's."""
    for each in parsers:
        if ROWS[each.runs[0].experiment] == row.id and _compares_with_paper(each):
            is_smaller = bool(each.finished) and each.finished[0].record.scale != "paper"
            return f"{each.cell(lambda run: run.f1)}{f' {OTHER_SIZES}' if is_smaller else ''}"
    return ""


def _by_treebank(finished: Parsers) -> Grid:
    lines = [
        (each, search, [scores for _, scores in found])
        for each in finished
        for search, found in _by_search(each).items()
    ]
    names = list(dict.fromkeys(name for _, _, scores in lines for of_run in scores for name in of_run.shown))
    groups: dict[str, list[tuple[str, ...]]] = {}
    for each, search, scores in lines:
        counts = f"{scores[0].sentences:,}", f"{len(scores)}"
        means = (_mean(scores, name) for name in names)
        treebank = _treebank(each)
        groups.setdefault(treebank, []).append((treebank, each.runs[0].experiment, search, *counts, *means))
    headings = ("<treebank", "<experiment", "<search", "sentences", "seeds", *names)
    return Grid("Ours on the test set, by treebank", headings, tuple(map(tuple, groups.values())))


def _mean(scores: Sequence[SplitScores], name: str) -> str:
    """Of the scores under a heading; empty if one of them lacks it."""
    shown = [of_run.shown.get(name) for of_run in scores]
    return mean_text([None if score is None else score.score for score in shown], two_decimals)


def _by_length(treebank: str, finished: Parsers) -> Grid:
    """F1 by words of the sentence, a column for each search of an experiment."""
    columns = {
        f"{each.runs[0].experiment}, {search}" if number else each.runs[0].experiment: [
            scores_by_length(run.brackets_by_sentence(scores)) for run, scores in found
        ]
        for each in finished
        for number, (search, found) in enumerate(_by_search(each).items())
    }
    runs = list(columns.values())
    counts = {words: scores.sentences for of_seeds in runs for scored in of_seeds for words, scores in scored.items()}

    def f1(of_seeds: Sequence[Mapping[str, BracketScores]], words: str) -> str:
        return mean_text([scored[words].f1 if words in scored else None for scored in of_seeds], two_decimals)

    lines = [(words, f"{count:,}", *(f1(of_seeds, words) for of_seeds in runs)) for words, count in counts.items()]
    headings = ("<words", "sentences", *columns)
    return Grid(f"F1 on {treebank} by length of the sentence", headings, (tuple(lines),))


def remarks(parsers: Parsers) -> Iterator[str]:
    """Training data and sizes, how brackets are counted, and numbers that do not compare."""
    scored = [each for each in parsers if each.finished]
    if not scored:
        yield "no run has finished: aiayn reproduce table4 does one"
        return
    for each in scored:
        run = each.finished[0]
        name = f"{run.experiment} on {run.treebank}"
        conditions = ", ".join(f"{key} {value}" for key, value in run.conditions.items())
        yield f"{name}: {conditions}: {run.record.data_summary()}"
        pairs = (run.record.data_counts.get("train") or {}).get("pairs")
        if (run.experiment, run.treebank) == ("wsj_only", WSJ) and pairs != SENTENCES_OF_SECTIONS_02_TO_21:
            yield f"{name}: trained on {pairs or 0:,} trees; sections 02 to 21 have {SENTENCES_OF_SECTIONS_02_TO_21:,}"
        if not _compares_with_paper(each):
            place = "not section 23 of the Wall Street Journal"
            yield f"{name}: {place}, so ours does not compare with the paper's column"
        elif run.record.scale != "paper":
            yield f"{OTHER_SIZES} {name}: not of the paper's scale, so ours is not the paper's parser"
        yield from sizes_remark(name, run, {key: load_table4().settings[key] for key in SIZES})
    finished = [run for each in scored for run in each.finished]
    signatures = sorted({run.brackets.signature for run in finished if run.brackets is not None})
    yield f"brackets: {'; '.join(signatures)}; well-formed is before outputs were repaired, all else after"
    yield from version_remarks(code_versions((run.path, run.record) for run in finished))
    yield from scoring_remarks((run.record.name, run.record, scores) for run in finished for scores in run.searches)


def _content(run: ParserRun) -> ParserRunContent:
    return ParserRunContent(
        **vars(run.provenance),
        is_on_section_23=run.is_on_section_23,
        sentences=None if run.test is None else run.test.sentences,
        scores=run.brackets or NoScores(),
        searches=tuple(_search_content(run, scores) for scores in run.searches),
        cost=run.record.account,
    )


def _search_content(run: ParserRun, scores: SplitScores) -> SearchContent:
    by_length = scores_by_length(run.brackets_by_sentence(scores))
    lengths = {words: LengthContent(part.sentences, part.f1) for words, part in by_length.items()}
    return SearchContent(scores.search, scores.brackets, lengths)
