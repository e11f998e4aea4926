"""Table 4 with ours beside the paper's parsers: F1 of labelled brackets on the test set."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from aiayn.config.report_schema import ReportConfig
from aiayn.evaluation.brackets import CUTOFF_LENGTH, BracketScores, LengthBucket, SentenceBrackets, by_length, total
from aiayn.paper.table4 import Parser, load_table4
from aiayn.reports.code_versions import code_versions, scoring_remarks, version_remarks
from aiayn.reports.comparability import sizes_remark
from aiayn.reports.formats import Document, Grid, show
from aiayn.reports.numbers import mean_text
from aiayn.reports.tables.table4_runs import PRINTED_SIZES, ROWS, WSJ, Ours, ParserRun, Table4Report, read_table4
from aiayn.runs.record import SplitScores

SENTENCES_OF_SECTIONS_02_TO_21 = 39832

OTHER_SIZES = "*"
"""Marks numbers of ours that are not of the paper's sizes."""

_TWO = "{:.2f}".format


def report_table4(config: ReportConfig, output: Path | None) -> None:
    """Print the table, or write it to a .md, .tex or .json file.

    Raises:
        UserError: runs do not compare, or a file cannot be read.
    """
    show(document(read_table4(Path(config.paths.runs), scale=config.only.scale, data=config.only.data)), output)


def document(report: Table4Report) -> Document:
    """The report as plain data."""
    lines = list(remarks(report))
    paper = {row.id: row.f1.value for row in load_table4().rows}
    return Document(
        title="Table 4",
        written="Written by `aiayn report table4` from the records of the runs.",
        grids=list(grids(report)),
        remarks=lines,
        runs=[run.path for run in report.runs],
        content={"paper": paper, "ours": [_plain(run) for run in report.runs], "remarks": lines},
    )


def grids(report: Table4Report) -> Iterator[Grid]:
    """The table; ours by treebank, and by sentence length."""
    yield _parsers(report)
    if report.finished:
        yield _by_treebank(report.finished)
    for treebank, of_treebank in groupby(report.finished, key=lambda each: each.treebank):
        lengths = _by_length(treebank, list(of_treebank))
        if lengths is not None:
            yield lengths


def _parsers(report: Table4Report) -> Grid:
    table = load_table4()
    groups: dict[str, list[tuple[str, ...]]] = {}
    for row in table.rows:
        groups.setdefault(row.group, []).append((row.label, row.group, str(row.f1), _our_cell(report, row)))
    (f1,) = table.columns
    headings = ("<parser", "<training", f1.heading, "ours")
    return Grid(str(table.caption.title), headings, tuple(map(tuple, groups.values())))


def _our_cell(report: Table4Report, row: Parser) -> str:
    """Our F1 of a row or the state of its runs; empty if it does not compare with the paper's."""
    ours = [each for each in report.ours if ROWS[each.experiment] == row.id and each.compares_with_paper]
    if not ours:
        return ""
    (of_wsj,) = ours
    if not of_wsj.finished:
        return of_wsj.runs[-1].entry.state.value
    mark = "" if of_wsj.finished[0].record.scale == "paper" else f" {OTHER_SIZES}"
    return _mean([run.test for run in of_wsj.finished if run.test], "F1") + mark


def _by_treebank(finished: Sequence[Ours]) -> Grid:
    lines = [
        (each, search, [scores for _, scores in found]) for each in finished for search, found in each.by_search.items()
    ]
    names = list(dict.fromkeys(name for _, _, scores in lines for of_run in scores for name in of_run.shown))
    groups: dict[str, list[tuple[str, ...]]] = {}
    for each, search, scores in lines:
        counts = f"{scores[0].sentences:,}", f"{len(scores)}"
        means = (_mean(scores, name) for name in names)
        groups.setdefault(each.treebank, []).append((each.treebank, each.experiment, search, *counts, *means))
    headings = ("<treebank", "<experiment", "<search", "sentences", "seeds", *names)
    return Grid("Ours on the test set, by treebank", headings, tuple(map(tuple, groups.values())))


def _mean(scores: Sequence[SplitScores], name: str) -> str:
    """Of the scores under a heading, to two places; empty if one of them lacks it."""
    shown = [of_run.shown.get(name) for of_run in scores]
    return mean_text([None if score is None else score.score for score in shown], _TWO)


def _by_length(treebank: str, finished: Sequence[Ours]) -> Grid | None:
    """F1 by words of the sentence, a column for each search of an experiment; None if no run recorded its sentences."""
    columns = {
        f"{each.experiment}, {search}" if number else each.experiment: [
            _scores_by_length(run.brackets_by_sentence(scores)) for run, scores in found
        ]
        for each in finished
        for number, (search, found) in enumerate(each.by_search.items())
    }
    runs = list(columns.values())
    counts = {words: scores.sentences for of_seeds in runs for scored in of_seeds for words, scores in scored.items()}
    lines = [
        (words, f"{count:,}", *(mean_text([_f1(scored.get(words)) for scored in of_seeds], _TWO) for of_seeds in runs))
        for words, count in counts.items()
    ]
    headings = ("<words", "sentences", *columns)
    return Grid(f"F1 on {treebank} by length of the sentence", headings, (tuple(lines),)) if lines else None


def _scores_by_length(sentences: Sequence[SentenceBrackets]) -> dict[str, BracketScores]:
    """The scores by ranges of sentence length, and of the range that EVALB's parameter file reports apart."""
    scores = {_range(part): part.scores for part in by_length(sentences)}
    short = total(sentence for sentence in sentences if sentence.length <= CUTOFF_LENGTH)
    return scores | ({f"at most {CUTOFF_LENGTH}": short} if short.sentences else {})


def _range(part: LengthBucket) -> str:
    return f"{part.shortest}" if part.shortest == part.longest else f"{part.shortest} to {part.longest}"


def _f1(scores: BracketScores | None) -> float | None:
    return None if scores is None else scores.f1


def remarks(report: Table4Report) -> Iterator[str]:
    """Training data and sizes, how brackets are counted, and numbers that do not compare."""
    if not report.finished:
        yield "no run has finished: aiayn reproduce table4 does one"
        return
    for each in report.finished:
        run, name = each.finished[0], f"{each.experiment} on {each.treebank}"
        conditions = ", ".join(f"{key} {value}" for key, value in run.conditions.items())
        yield f"{name}: {conditions}: {run.record.data_summary()}"
        pairs = (run.record.data_counts.get("train") or {}).get("pairs")
        if each.experiment == "wsj_only" and each.treebank == WSJ and pairs != SENTENCES_OF_SECTIONS_02_TO_21:
            yield f"{name}: trained on {pairs or 0:,} trees; sections 02 to 21 have {SENTENCES_OF_SECTIONS_02_TO_21:,}"
        if not each.compares_with_paper:
            place = "not section 23 of the Wall Street Journal"
            yield f"{name}: {place}, so ours does not compare with the paper's column"
        elif run.record.scale != "paper":
            yield f"{OTHER_SIZES} {name}: not of the paper's scale, so ours is not the paper's parser"
        yield from sizes_remark(name, run, PRINTED_SIZES)
    finished = [run for each in report.finished for run in each.finished]
    signatures = sorted({run.brackets.signature for run in finished if run.brackets is not None})
    yield f"brackets: {'; '.join(signatures)}; well-formed is before outputs were repaired, all else after"
    yield from version_remarks(code_versions((run.path, run.record) for run in finished))
    yield from scoring_remarks((run.record.name, run.record, scores) for run in finished for scores in run.searches)


def _plain(run: ParserRun) -> dict[str, Any]:
    """For JSON."""
    return {
        **run.plain(),
        "is_on_section_23": run.is_on_section_23,
        "sentences": None if run.test is None else run.test.sentences,
        "scores": {} if run.brackets is None else vars(run.brackets),
        "searches": [
            {
                "search": scores.search and vars(scores.search),
                "scores": scores.brackets and vars(scores.brackets),
                "f1_by_length": {
                    words: {"sentences": part.sentences, "f1": part.f1}
                    for words, part in _scores_by_length(run.brackets_by_sentence(scores)).items()
                },
            }
            for scores in run.searches
        ],
        "cost": run.record.account.plain(),
    }
