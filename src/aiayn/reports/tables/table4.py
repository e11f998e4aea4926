"""The runs that Table 4's report is made of: which they are, which may share a number, what each search found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aiayn.errors import UserError
from aiayn.evaluation.brackets import SentenceBrackets
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.reports.scored_runs import ScoredRun, refuse_apart, refuse_twins, refuse_unlike, runs_of_table
from aiayn.runs.evaluations import other_searches
from aiayn.runs.record import RecordedBrackets, RecordedSearch, SplitScores

PREFIX = "table4/"

ROWS = {"wsj_only": "transformer_wsj", "semi_supervised": "transformer_semi"}
"""Of the table, by experiment."""

WSJ = "wsj"
"""The treebank's name where it is the Wall Street Journal part of the Penn Treebank, in the standard split."""

SILVER = "_silver"
"""How a treebank's name ends where trees of parsers are trained on as well: the test set is the same."""

PRINTED_SIZES = {"model.num_layers": 4, "model.d_model": 1024}
"""Of the paper's parser (section 6.3), by configuration key."""

SENTENCES_OF_SECTION_23 = 2416


@dataclass(frozen=True)
class ParserRun(ScoredRun):
    """One run of an experiment of the table."""

    @property
    def experiment(self) -> str:
        """Its name within the table."""
        return self.record.experiment.removeprefix(PREFIX)

    @property
    def treebank(self) -> str:
        """What it was tested on."""
        return self.record.data.removesuffix(SILVER)

    @property
    def brackets(self) -> RecordedBrackets | None:
        """What it scored on the test set; None until it has finished, and where it was no trees."""
        return None if self.test is None else self.test.brackets

    def sentences(self, scores: SplitScores) -> list[SentenceBrackets]:
        """What each sentence of the test set scored by one of the searches; empty where it was not noted."""
        path = (self.path / scores.hypotheses).with_name("test.sentences.jsonl")
        rows = read_sentence_scores(path) if path.is_file() else []
        return [row.brackets for row in rows if row.brackets is not None]

    @property
    def gold(self) -> list[tuple[int, int]]:
        """Words and brackets of each gold tree of the test set; empty where they were not noted."""
        found = [] if self.test is None else self.sentences(self.test)
        return [(sentence.length, sentence.scores.gold) for sentence in found]

    @property
    def searches(self) -> Sequence[SplitScores]:
        """The test set by its own search, and by those that `aiayn evaluate` tried with the same weights."""
        return [] if self.test is None else [self.test, *other_searches(self.entry.directory, "test", self.test)]

    @property
    def is_on_section_23(self) -> bool:
        """Whether its test set is that of the paper, as far as name and size tell."""
        return self.treebank == WSJ and self.test is not None and self.test.sentences == SENTENCES_OF_SECTION_23


@dataclass(frozen=True)
class Ours:
    """An experiment of the table on one treebank, all its seeds together."""

    experiment: str
    treebank: str
    runs: Sequence[ParserRun]

    @property
    def finished(self) -> list[ParserRun]:
        """Those that count."""
        return [run for run in self.runs if run.brackets is not None]

    @property
    def stands_beside_the_paper(self) -> bool:
        """Whether it is of the paper's treebank; what has finished, of its test set too."""
        return self.treebank == WSJ and all(run.is_on_section_23 for run in self.finished)

    @property
    def by_search(self) -> dict[str, list[tuple[ParserRun, SplitScores]]]:
        """The finished runs that have scores of a search, with these; the runs' own search first."""
        found: dict[str, list[tuple[ParserRun, SplitScores]]] = {}
        for run in self.finished:
            own, *others = run.searches
            for scores in (own, *others):
                found.setdefault(_search_text(scores.search, own.search), []).append((run, scores))
        return found


@dataclass(frozen=True)
class Table4Report:
    """All that is shown."""

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
        runs: the folder.
        scale: only runs of this scale.
        data: only runs on this treebank, by name or by the first digits of its fingerprint.

    Raises:
        UserError: seeds of one experiment do not compare, or a file cannot be read.
    """
    found: dict[tuple[str, str], list[ParserRun]] = {}
    for entry, record in runs_of_table(runs, [f"{PREFIX}{name}" for name in ROWS], scale=scale, data=data):
        run = ParserRun(entry, record)
        found.setdefault((run.treebank, run.experiment), []).append(run)
    treebanks = sorted({treebank for treebank, _ in found}, key=lambda name: (name != WSJ, name))
    ours = [
        Ours(experiment, treebank, sorted(found[treebank, experiment], key=lambda run: run.record.seed))
        for treebank in treebanks
        for experiment in ROWS
        if (treebank, experiment) in found
    ]
    for treebank in treebanks:  # silver trees are data, too: the table's two experiments differ there
        of_treebank = [each.finished for each in ours if each.treebank == treebank]
        refuse_apart([run for finished in of_treebank for run in finished], ["scale"])
        for finished in of_treebank:
            refuse_apart(finished)
            refuse_unlike(finished)
            refuse_twins(finished)
        _refuse_other_sentences([run for finished in of_treebank for run in finished])
    return Table4Report(ours)


def _refuse_other_sentences(runs: Sequence[ParserRun]) -> None:
    """Refuse runs on one treebank, by its name, that were tested on different trees, as far as their notes tell.

    Raises:
        UserError: two have.
    """
    noted = [(run, gold) for run in runs if (gold := run.gold)]
    for run, gold in noted[1:]:
        first, other = noted[0]
        if gold != other:
            raise UserError(
                f"data.test differs in {run.path} and {first.path}, both on {run.treebank}: name one of the treebanks "
                "with data.name=, or choose with only.data="
            )


def _search_text(search: RecordedSearch | None, own: RecordedSearch | None) -> str:
    """A search in a table: its beam, and in what else it is not the run's own; nothing of older records."""
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
