"""The runs of Table 4's experiments, and which of them compare."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from aiayn.evaluation.brackets import SentenceBrackets
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.reports.comparability import (
    Difference,
    ReportedRun,
    check_alike,
    check_duplicate_seeds,
    choose,
    condition_differences,
    definition_differences,
    score_differences,
    setting_differences,
)
from aiayn.runs.evaluations import other_searches
from aiayn.runs.ledger import read_results
from aiayn.runs.record import RecordedBrackets, RecordedSearch, SplitScores

PREFIX = "table4/"

ROWS = {"wsj_only": "transformer_wsj", "semi_supervised": "transformer_semi"}
"""Of the table, by experiment."""

WSJ = "wsj"
"""The Wall Street Journal part of the Penn Treebank, in the standard split."""

SILVER = "_silver"
"""Ends the name of a treebank that adds parsers' trees to the training data; the test set is the same."""

PRINTED_SIZES = {"model.num_layers": 4, "model.d_model": 1024}
"""Of the paper's parser (section 6.3), by configuration key."""

SENTENCES_OF_SECTION_23 = 2416

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
    def test(self) -> SplitScores | None:
        """The scores of the test set; None until the run has finished."""
        return self.scores("test")

    @property
    def brackets(self) -> RecordedBrackets | None:
        """The brackets of the test set; None until the run has finished."""
        return None if self.test is None else self.test.brackets

    def brackets_by_sentence(self, scores: SplitScores) -> list[SentenceBrackets]:
        """The brackets of each sentence of the test set by one search; empty if they were not recorded."""
        path = (self.path / scores.hypotheses).with_name("test.sentences.jsonl")
        rows = read_sentence_scores(path) if path.is_file() else []
        return [row.brackets for row in rows if row.brackets is not None]

    @cached_property
    def gold(self) -> list[tuple[int, int]]:
        """Words and brackets of each gold tree of the test set; empty if they were not recorded."""
        found = [] if self.test is None else self.brackets_by_sentence(self.test)
        return [(sentence.length, sentence.scores.gold) for sentence in found]

    @property
    def searches(self) -> Sequence[SplitScores]:
        """The test set by the run's own search, then by those of `aiayn evaluate` with the same weights."""
        return [] if self.test is None else [self.test, *other_searches(self.entry.directory, "test", self.test)]

    @property
    def is_on_section_23(self) -> bool:
        """Whether its test set is the paper's, by name and size."""
        return self.treebank == WSJ and self.test is not None and self.test.sentences == SENTENCES_OF_SECTION_23


@dataclass(frozen=True)
class Ours:
    """An experiment on one treebank, with all its seeds."""

    experiment: str
    treebank: str
    runs: Sequence[ParserRun]

    @property
    def finished(self) -> list[ParserRun]:
        """The runs with scores."""
        return [run for run in self.runs if run.brackets is not None]

    @property
    def compares_with_paper(self) -> bool:
        """Whether treebank and, of finished runs, test set are the paper's."""
        return self.treebank == WSJ and all(run.is_on_section_23 for run in self.finished)

    @property
    def by_search(self) -> dict[str, list[tuple[ParserRun, SplitScores]]]:
        """The finished runs and their scores by each search; the runs' own search first."""
        found: dict[str, list[tuple[ParserRun, SplitScores]]] = {}
        for run in self.finished:
            own, *others = run.searches
            for scores in (own, *others):
                found.setdefault(_search_text(scores.search, own.search), []).append((run, scores))
        return found


@dataclass(frozen=True)
class Table4Report:
    """Our experiments of the table."""

    ours: Sequence[Ours]
    """In the table's order, those of the paper's treebank first, then the others' by name."""

    @property
    def runs(self) -> list[ParserRun]:
        """All runs, finished or not."""
        return [run for each in self.ours for run in each.runs]

    @property
    def finished(self) -> list[Ours]:
        """Those that have scores."""
        return [each for each in self.ours if each.finished]


def read_table4(runs: Path, *, scale: str | None, data: str | None) -> Table4Report:
    """The runs of the table's experiments below a folder.

    Args:
        runs: the folder; it may be missing.
        scale: only runs of this scale.
        data: only runs on this treebank, by name or by the first digits of its fingerprint.

    Raises:
        UserError: seeds of one experiment do not compare, or a file cannot be read.
    """
    names = {f"{PREFIX}{name}" for name in ROWS}
    entries = read_results(runs) if runs.is_dir() else []
    there = [ParserRun(entry, entry.record) for entry in entries if entry.record and entry.record.experiment in names]
    found: dict[tuple[str, str], list[ParserRun]] = {}
    for run in choose(there, runs, scale=scale, data=data):
        found.setdefault((run.treebank, run.experiment), []).append(run)
    treebanks = sorted({treebank for treebank, _ in found}, key=lambda name: (name != WSJ, name))
    ours = [
        Ours(experiment, treebank, sorted(found[treebank, experiment], key=lambda run: run.record.seed))
        for treebank in treebanks
        for experiment in ROWS
        if (treebank, experiment) in found
    ]
    for treebank in treebanks:
        _check_treebank([each.finished for each in ours if each.treebank == treebank])
    return Table4Report(ours)


def _check_treebank(experiments: Sequence[Sequence[ParserRun]]) -> None:
    """Refuse runs on one treebank that do not compare: the two experiments differ in data and settings.

    Raises:
        UserError: naming two runs.
    """
    finished = [run for runs in experiments for run in runs]
    check_alike(finished, lambda *runs: (each for each in condition_differences(*runs) if each.key == "scale"))
    for runs in experiments:
        check_alike(runs, _differences, f"no column holds both; {REMEDY}")
        check_duplicate_seeds(runs, lambda run: run.experiment, REMEDY)
    remedy = "name one of the treebanks with data.name=, or choose with only.data="
    check_alike([run for run in finished if run.gold], _gold_differences, remedy)


def _differences(run: ParserRun, other: ParserRun) -> Iterator[Difference]:
    yield from condition_differences(run, other)
    yield from setting_differences(run, other)
    assert run.test is not None
    assert other.test is not None
    yield from score_differences(run.test, other.test, "test")
    yield from definition_differences(run.test, other.test)


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
    if search.max_extra_length != own.max_extra_length:
        parts.append(f"input + {search.max_extra_length}")
    if search.ends_among != own.ends_among:
        parts.append(f"ends among {search.ends_among}")
    if search.constrained:
        parts.append("constrained")
    elif own.constrained:
        parts.append("not constrained")
    return ", ".join(parts)
