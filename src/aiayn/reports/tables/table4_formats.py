"""Table 4 with ours beside the paper's parsers: F1 of labelled brackets on the test set."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from aiayn.config.report_schema import ReportConfig
from aiayn.evaluation.brackets import CUTOFF_LENGTH, BracketScores, LengthBucket, SentenceBrackets, by_length, total
from aiayn.paper.table4 import Parser, load_table4
from aiayn.reports.code_versions import code_versions, scoring_remarks, version_remarks
from aiayn.reports.grids import Grid, latex_table, markdown_page, markdown_runs, print_or_write
from aiayn.reports.scored_runs import mean_text, sizes_remark
from aiayn.reports.table3_runs import FINGERPRINT_DIGITS
from aiayn.reports.tables.table4 import PRINTED_SIZES, ROWS, WSJ, Ours, Table4Report, read_table4
from aiayn.runs.record import SplitScores, json_text

SENTENCES_OF_SECTIONS_02_TO_21 = 39832

_TWO = "{:.2f}".format
"""How scores are shown."""

OTHER_SIZES = "*"
"""Marks numbers of ours that are not of the paper's sizes."""

OTHER_DATA = "not section 23 of the Wall Street Journal"
"""Why a number of ours does not compare with one of the paper's."""


def report_table4(config: ReportConfig, output: Path | None) -> None:
    """Print the table, or write it.

    Args:
        config: of the command.
        output: a .md, .tex or .json file, or None for the terminal.

    Raises:
        UserError: runs do not compare, or a file cannot be read.
    """
    report = read_table4(Path(config.paths.runs), scale=config.only.scale, data=config.only.data)
    print_or_write(report, output, {".md": _markdown, ".tex": _latex, ".json": _json}, grids=grids, remarks=remarks)


def grids(report: Table4Report) -> Iterator[Grid]:
    """The table; ours by treebank, and by length of the sentence."""
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
        groups.setdefault(row.group, []).append((row.label, row.group, str(row.f1), _beside(report, row)))
    (f1,) = table.columns
    headings = ("<parser", "<training", f1.heading, "ours")
    return Grid(str(table.caption.title), headings, tuple(map(tuple, groups.values())))


def _beside(report: Table4Report, row: Parser) -> str:
    """Ours of a row where it compares with the paper's: F1, or what has become of it."""
    ours = [each for each in report.ours if ROWS[each.experiment] == row.id and each.stands_beside_the_paper]
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
    """Of what tables show by that heading, to two places; empty where one of them lacks it."""
    shown = [of_run.shown.get(name) for of_run in scores]
    return mean_text([None if score is None else score.score for score in shown], _TWO)


def _by_length(treebank: str, finished: Sequence[Ours]) -> Grid | None:
    """F1 by words of the sentence, a column for each search of an experiment; None where no run noted its sentences."""
    columns = {
        f"{each.experiment}, {search}" if number else each.experiment: [
            _scores_by_length(run.sentences(scores)) for run, scores in found
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
    """What sentences scored, by ranges of length, and those that EVALB's parameter file sets apart."""
    scores = {_range(part): part.scores for part in by_length(sentences)}
    short = total(sentence for sentence in sentences if sentence.length <= CUTOFF_LENGTH)
    return scores | ({f"at most {CUTOFF_LENGTH}": short} if short.sentences else {})


def _range(part: LengthBucket) -> str:
    return f"{part.shortest}" if part.shortest == part.longest else f"{part.shortest} to {part.longest}"


def _f1(scores: BracketScores | None) -> float | None:
    return None if scores is None else scores.f1


def remarks(report: Table4Report) -> Iterator[str]:
    """What was trained on what, how it was counted, and what may not be compared."""
    if not report.finished:
        yield "no run has finished: aiayn reproduce table4 does one"
        return
    for each in report.finished:
        record = each.finished[0].record
        fingerprint = (record.data_fingerprint or "")[:FINGERPRINT_DIGITS]
        name = f"{each.experiment} on {each.treebank}"
        yield f"{name}: scale {record.scale}, data {fingerprint}: {record.data_summary()}"
        pairs = (record.data_counts.get("train") or {}).get("pairs")
        if each.experiment == "wsj_only" and each.treebank == WSJ and pairs != SENTENCES_OF_SECTIONS_02_TO_21:
            yield f"{name}: trained on {pairs or 0:,} trees; sections 02 to 21 have {SENTENCES_OF_SECTIONS_02_TO_21:,}"
        if not each.stands_beside_the_paper:
            yield f"{name}: {OTHER_DATA}, so ours does not compare with the paper's column"
        elif record.scale != "paper":
            yield f"{OTHER_SIZES} {name}: not of the paper's scale, so ours is not the paper's parser"
        yield from sizes_remark(name, each.finished[0], PRINTED_SIZES)
    signatures = {run.brackets.signature for each in report.ours for run in each.finished if run.brackets is not None}
    yield f"brackets: {'; '.join(sorted(signatures))}; well-formed is before outputs were repaired, all else after"
    finished = [run for each in report.ours for run in each.finished]
    yield from version_remarks(code_versions((run.path, run.record) for run in finished))
    yield from scoring_remarks((run.record.name, run.record, scores) for run in finished for scores in run.searches)


def _markdown(report: Table4Report) -> str:
    return markdown_page(
        "Table 4",
        "Written by `aiayn report table4` from the records of the runs.",
        grids(report),
        remarks(report),
        below=[markdown_runs(run.path for run in report.runs)] if report.runs else [],
    )


def _latex(report: Table4Report) -> str:
    lines = "".join(f"% {line}\n" for line in remarks(report))
    return lines + "\n\n".join(map(latex_table, grids(report))) + "\n"


def _json(report: Table4Report) -> str:
    ours = [
        {
            "run": str(run.path),
            "experiment": run.record.experiment,
            "seed": run.record.seed,
            "state": run.entry.state.value,
            "scale": run.record.scale,
            "data": run.record.data,
            "data_fingerprint": run.record.data_fingerprint,
            "commit": run.record.commit,
            "dirty": run.record.dirty,
            "is_on_section_23": run.is_on_section_23,
            "sentences": None if run.test is None else run.test.sentences,
            "scores": {} if run.brackets is None else vars(run.brackets),
            "searches": [
                {
                    "search": scores.search and vars(scores.search),
                    "scores": scores.brackets and vars(scores.brackets),
                    "f1_by_length": {
                        words: {"sentences": part.sentences, "f1": part.f1}
                        for words, part in _scores_by_length(run.sentences(scores)).items()
                    },
                }
                for scores in run.searches
            ],
            "cost": run.record.account.plain(),
        }
        for run in report.runs
    ]
    paper = {row.id: row.f1.value for row in load_table4().rows}
    return json_text({"paper": paper, "ours": ours, "remarks": list(remarks(report))})
